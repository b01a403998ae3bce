import net from "node:net";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { createApi, listen } from "#http";
import { LoopTime, SharedResource, systemRandom } from "#kernel";
import { until } from "../harness/service.ts";

const PRINCIPAL = {
  keyId: "",
  workspaceId: "ours",
  role: "admin",
  plan: "free",
  requestsPerMinute: null,
  executionsPerMonth: null,
} as never;

/** A listener, and connections to it whose text is kept. */
async function service(onTestFinished: (end: () => Promise<void>) => void) {
  const loopTime = new LoopTime();
  const requestMemory = new SharedResource({ name: "request_memory", capacity: 1024 ** 3 });
  const api = createApi({
    authenticator: { findPrincipal: async () => PRINCIPAL, operatorToken: null },
    emit: () => {},
    random: systemRandom,
    shares: { loopTime, requestMemory },
    connections: { listener: "public", max: 100, clock: { elapsedMs: () => performance.now() } },
  });
  const served: string[] = [];
  api.get("/served/:n", ({ params }) => {
    served.push((params as { n: string }).n);
    return {};
  });
  api.get("/stream", (_request, reply) => reply.send(Readable.from(Array.from({ length: 1_000 }, () => Buffer.alloc(64 * 1024)))));
  api.post("/bodies", { bodyLimit: 64 * 1024 ** 2, config: { access: "read" }, schema: { body: {} } }, () => ({}));
  const url = new URL(await listen(api, "127.0.0.1", 0));
  const sockets: net.Socket[] = [];
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    api.server.closeAllConnections();
    await api.close();
  });
  const open = () => {
    const socket = net.connect(Number(url.port), url.hostname);
    const client = { socket, text: "", closed: false };
    socket.setEncoding("utf8").on("data", (text: string) => (client.text += text));
    socket.on("error", () => {});
    socket.on("close", () => (client.closed = true));
    sockets.push(socket);
    return client;
  };
  return { api, loopTime, requestMemory, served, open };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
const HEAD = "POST /bodies HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer svc_ws_a\r\nContent-Type: application/json\r\n";

test("requests that come together are served in turn, up to 16 of a connection; with more it ends, and they are not served", async ({
  onTestFinished,
}) => {
  const { served, open } = await service(onTestFinished);
  const few = open();
  few.socket.write(Array.from({ length: 16 }, (_, n) => get(`/served/${n}`)).join(""));
  await until(() => few.text.split("HTTP/1.1 200").length === 17, "16 responses");
  expect(served).toHaveLength(16);
  const many = open();
  many.socket.write(Array.from({ length: 1_000 }, () => get("/served/x")).join(""));
  await until(() => many.closed, "the connection to be closed");
  expect(served.filter((n) => n === "x").length).toBeLessThanOrEqual(16);
});

test("a body in very many very small chunks is refused", async ({ onTestFinished }) => {
  const { open } = await service(onTestFinished);
  const client = open();
  client.socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${"1\r\n \r\n".repeat(5_000)}`);
  await until(() => client.closed, "the connection to be closed");
  expect(client.text).toMatch(/^HTTP\/1\.1 400 /);
  expect(client.text).toContain("chunks that are too small");
});

test("a body in chunks of a common size is read, and so is a short one in small chunks", async ({ onTestFinished }) => {
  const { open } = await service(onTestFinished);
  const chunk = `400\r\n${" ".repeat(1_024)}\r\n`;
  for (const chunks of [chunk.repeat(2_000), "1\r\n \r\n".repeat(900)]) {
    const client = open();
    client.socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunks}2\r\n[]\r\n0\r\n\r\n`);
    await until(() => client.text.includes("HTTP/1.1 200"), "the response");
  }
});

test("nothing is kept of a response that the client does not read to its end", async ({ onTestFinished }) => {
  const { api, open } = await service(onTestFinished);
  const client = open();
  client.socket.write(get("/stream"));
  await until(() => client.text.length > 0, "the response to begin");
  expect(api.inFlight.size).toBe(1);
  client.socket.destroy();
  await until(() => api.inFlight.size === 0, "the request to be forgotten");
});

test("a body whose client is gone is not parsed any more, and its memory is free", async ({ onTestFinished }) => {
  const { loopTime, requestMemory, open } = await service(onTestFinished);
  const body = `[${"0,".repeat(15_000)}"${"x".repeat(8 * 1024 ** 2)}"]`;
  const clients = Array.from({ length: 8 }, () => {
    const client = open();
    client.socket.write(`${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`);
    return client;
  });
  await until(() => loopTime.waiting >= 1, "a body to wait for its turn");
  for (const { socket } of clients) socket.resetAndDestroy();
  await until(() => loopTime.waiting === 0 && requestMemory.total === 0, "their work to be dropped");
});
