import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { buildConnector, Client } from "undici";
import { expect, onTestFinished, test } from "vitest";
import type { Response } from "../../src/outbound/request.ts";
import { limitResponses, type ResponseLimiter } from "../../src/outbound/response-limiter.ts";
import { ResponseReader } from "../../src/outbound/response-reader.ts";
import { ResponseTurns } from "../../src/outbound/response-turns.ts";
import { until } from "../harness/service.ts";

const BODY = "x".repeat(60_000);

/** A server that calls `onRequest` with each request's path and connection, and clients of it. In each turn there is time for one read. */
async function serve(onRequest: (path: string, socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (bytes) => onRequest(bytes.toString().split(" ")[1] ?? "", socket));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  let nowMs = 0;
  const turns = new ResponseTurns(() => (nowMs += 10));
  let current: ResponseLimiter | null = null;
  const setCurrent = (limiter: ResponseLimiter | null) => {
    current = limiter;
  };
  const connect = limitResponses(buildConnector({}), setCurrent, turns);
  const clients: Client[] = [];
  onTestFinished(async () => {
    for (const client of clients) await client.destroy();
    server.close();
  });
  return () => {
    const client = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { connect });
    clients.push(client);
    return (path: string) =>
      new Promise<Response>((resolve) => {
        client.dispatch({ path, method: "POST", body: "{}" }, new ResponseReader({ maxBodyBytes: 100_000 }, () => current, resolve));
      });
  };
}

const bodyOf = (response: Response | undefined) => (response?.kind === "responded" ? response.body?.toString() : response);

test.each(["", `Content-Length: ${BODY.length}\r\n`])(
  "responses that end with their connection are read whole, though each waits for its turn: with the header '%s'",
  async (header) => {
    const waiting: Socket[] = [];
    const newClient = await serve((_path, socket) => waiting.push(socket));
    const responses = Array.from({ length: 40 }, () => newClient()("/"));
    await until(() => waiting.length === responses.length, "all requests");
    for (const socket of waiting) socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n${header}\r\n${BODY}`);
    const bodies = (await Promise.all(responses)).map(bodyOf);
    expect(bodies.filter((body) => body !== BODY)).toEqual([]);
  },
);

test("what comes unasked on a connection is not taken for the response to its next request, though others wait for their turns", async () => {
  const responding = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const waiting: Socket[] = [];
  let reused: Socket | undefined;
  const newClient = await serve((path, socket) => {
    if (path === "/wait") waiting.push(socket);
    else socket.write(responding(path));
    if (path === "/first") reused = socket;
  });
  const client = newClient();
  expect(bodyOf(await client("/first"))).toBe("/first");
  let second: Promise<Response> | undefined;
  const others = Array.from({ length: 30 }, async () => {
    await newClient()("/wait");
    second ??= client("/second");
  });
  await until(() => waiting.length === others.length, "all requests");
  for (const socket of waiting) socket.write(responding("other"));
  reused?.write(responding("unasked"));
  await Promise.all(others);
  expect(bodyOf(await second)).toBe("/second");
});
