import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Bodies } from "../bare-bodies.ts";
import type { Order } from "../client-orders.ts";

/**
 * HTTP with nothing around it, as a floor: parses each request and responds with what a node has responded to such a one. It checks and stores
 * nothing. A GET returns the sample of a kind.
 */
let samples: Record<Order["kind"], Bodies> | undefined;

const server = createServer((request, response) => {
  const { method, url = "" } = request;
  const sample = samples?.[url.slice(1) as Order["kind"]];
  const respond = (body: unknown) => {
    const text = JSON.stringify(body);
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text);
  };
  if (method === "GET") {
    respond(sample);
    return;
  }
  let body = "";
  request.setEncoding("utf8").on("data", (text) => {
    body += text;
  });
  request.on("end", () => {
    JSON.parse(body);
    respond(sample?.response);
  });
});

server.listen(0, "127.0.0.1", () => process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
process.on("message", (message: typeof samples) => {
  samples = message;
  process.send?.({});
});
process.on("disconnect", () => process.exit(0));
