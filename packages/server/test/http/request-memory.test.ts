import net from "node:net";
import { Readable } from "node:stream";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { type Api, createApi, jsonText, listen } from "#http";
import { LoopTime, SharedResource, systemRandom } from "#kernel";
import { principalOf } from "../harness/principal.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { until } from "../harness/service.ts";

const MIB = 1024 * 1024;
const CAPACITY = 64 * MIB;
/** More than the buffers of a connection hold. */
const LARGE = 40 * MIB;

const opened: { api: Api; sockets: net.Socket[] }[] = [];

afterEach(async () => {
  for (const { api, sockets } of opened.splice(0)) {
    for (const socket of sockets) socket.destroy();
    await api.close();
  }
});

/** A listener with a route that takes large bodies and one with a large response. A key is the name of its workspace. */
async function service(stalledResponseMs?: number) {
  const memory = new SharedResource({ name: "request_memory", capacity: CAPACITY, maxWaitMs: 60_000 });
  const api = createApi({
    authenticator: { findPrincipal: async (key) => principalOf(key), operatorToken: null },
    emit: () => {},
    random: systemRandom,
    shares: { requestMemory: memory, loopTime: new LoopTime() },
    ...(stalledResponseMs !== undefined && { stalledResponseMs }),
  });
  api.post("/bodies", { bodyLimit: LARGE, config: { access: "read" }, schema: { body: {} } }, () => ({ taken: true }));
  api.get("/large", { config: { access: "read" } }, (_request, reply) => reply.send("x".repeat(LARGE)));
  api.get("/items", { config: { access: "read" } }, (_request, reply) => reply.send(jsonText(Array(40).fill("x".repeat(MIB)))));
  api.get("/buffer", (_request, reply) => reply.send(Buffer.alloc(LARGE)));
  api.get("/stream", (_request, reply) => reply.send(Readable.from([Buffer.alloc(LARGE)])));
  const expected = Promise.withResolvers<void>();
  api.get("/expected", { config: { access: "read" } }, async (_request, reply) => {
    reply.holdBytes?.(LARGE);
    reply.holdBytes?.(-MIB);
    await expected.promise;
    return reply.send({ small: true });
  });
  const [admitted, made] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let [entered, reading] = [0, 0];
  api.get("/waits", { config: { access: "read" } }, async (_request, reply) => {
    entered += 1;
    await admitted.promise;
    await reply.holdBytesInTurn?.(LARGE);
    reading += 1;
    await made.promise;
    return { small: true };
  });
  api.get("/small", { config: { access: "read" } }, () => ({ small: true }));
  const url = await listen(api, "127.0.0.1", 0);
  const sockets: net.Socket[] = [];
  opened.push({ api, sockets });
  const served = new Set<net.Socket>();
  api.server.on("connection", (socket: net.Socket) => {
    served.add(socket);
    socket.on("close", () => served.delete(socket));
  });

  /** Sends the head of a request, and reads nothing. */
  const begin = (key: string, head: string): net.Socket => {
    const { hostname, port } = new URL(url);
    const socket = net.connect(Number(port), hostname);
    socket.on("error", () => {});
    socket.write(`${head} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`);
    sockets.push(socket);
    return socket;
  };
  return {
    memory,
    /** Lets requests go on that wait for memory when they have been admitted, and then lets their responses be made. */
    admit: admitted.resolve,
    make: made.resolve,
    entered: () => entered,
    reading: () => reading,
    /** Lets the response be made that was expected to be large. */
    makeExpected: expected.resolve,
    connections: () => served.size,
    /** A body of which only the first byte comes. */
    stall: (key: string, framing: string) => {
      const socket = begin(key, "POST /bodies");
      socket.write(`${framing}\r\n\r\n[`);
      return socket;
    },
    /** A response that is not read. */
    leave: (key: string, path = "/large") => {
      const socket = begin(key, `GET ${path}`);
      socket.pause();
      socket.write("\r\n");
      return socket;
    },
    get: (key: string, path: string) => sendRaw(url, { method: "GET", path, headers: { authorization: `Bearer ${key}` } }),
    post: (key: string, body: string) =>
      sendRaw(url, {
        method: "POST",
        path: "/bodies",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body,
      }),
  };
}

test("a body that stalls counts with its announced length; the workspace's next one waits, and another workspace's does not", async () => {
  const { memory, stall, post } = await service();
  const first = stall("a", `Content-Length: ${LARGE}`);
  await until(() => memory.total === LARGE, "the first body counts");
  stall("a", `Content-Length: ${LARGE}`);
  await until(() => memory.waiting === 1, "the second body waits");
  const reply = await post("b", `["${"y".repeat(2 * MIB)}"]`);
  expect(reply).toMatchObject({ status: 200, body: { taken: true } });
  first.destroy();
  await until(() => memory.waiting === 0, "the second body has its turn");
});

test("a body without an announced length counts with the largest that its route allows", async () => {
  const { memory, stall } = await service();
  stall("a", "Transfer-Encoding: chunked");
  await until(() => memory.total === LARGE, "the body counts");
});

test("a response that nobody reads counts; the workspace's next request is refused in words, and another workspace's is not", async () => {
  const { memory, leave, get } = await service();
  const unread = leave("a");
  await until(() => memory.total === LARGE, "the response counts");
  leave("a");
  await until(() => memory.total === 2 * LARGE, "the second response counts");
  const refused = await get("a", "/small");
  expect(refused).toMatchObject({ status: 503, body: { error: { code: "UNAVAILABLE" } } });
  expect(refused.body.error.message).toMatch(/this node's memory for requests and responses is in use/);
  expect(refused.headers.get("retry-after")).toBe("1");
  unread.destroy();
  await until(() => memory.total === LARGE, "the first response is gone");
  expect((await get("b", "/small")).status).toBe(200);
});

test("what a response is expected to hold counts before it is made, until it is made or its client is gone", async () => {
  const { memory, get, leave, makeExpected } = await service();
  const gone = leave("a", "/expected");
  await until(() => memory.total === LARGE - MIB, "the expected response counts");
  gone.destroy();
  await until(() => memory.total === 0, "its client is gone");
  const reply = get("a", "/expected");
  await until(() => memory.total === LARGE - MIB, "the expected response counts");
  makeExpected();
  expect(await reply).toMatchObject({ status: 200 });
  await until(() => memory.total === 0, "the response is small");
});

test("responses that are admitted together are read while there is any room, and then wait for it", async () => {
  const { memory, get, admit, make, entered, reading } = await service();
  onTestFinished(() => make());
  onTestFinished(() => admit());
  const replies = Array.from({ length: 3 }, () => get("a", "/waits"));
  await until(() => entered() === 3, "all to be admitted");
  admit();
  await until(() => memory.waiting === 1 && reading() === 2, "the third one to wait");
  expect(memory.total).toBe(2 * LARGE);
  make();
  for (const reply of await Promise.all(replies)) expect(reply.status).toBe(200);
  await until(() => memory.total === 0, "nothing to be held");
});

test("a response that was read no longer counts", async () => {
  const { memory, get } = await service();
  expect((await get("a", "/large")).text).toHaveLength(LARGE);
  await until(() => memory.total === 0, "nothing counts");
});

test("a response that is sent as a stream of JSON counts with its whole length", async () => {
  const { memory, leave, get } = await service();
  const unread = leave("a", "/items");
  await until(() => memory.total === LARGE, "the response counts");
  unread.destroy();
  await until(() => memory.total === 0, "the response is gone");
  expect((await get("a", "/items")).text).toHaveLength(LARGE);
  await until(() => memory.total === 0, "nothing counts");
});

test("a client that does not go on reading a response is disconnected", async () => {
  const { memory, leave } = await service(50);
  leave("a");
  await until(() => memory.total === LARGE, "the response counts");
  await until(() => memory.total === 0, "the connection is closed");
});

test.for(["/buffer", "/stream"])("a client that does not go on reading %s is disconnected, also without a key", async (path) => {
  const { leave, connections } = await service(50);
  leave("a", path);
  await until(() => connections() === 1, "the connection");
  await until(() => connections() === 0, "the connection is closed");
});

test("small bodies and responses do not count", async () => {
  const { memory, stall, get } = await service();
  stall("a", "Content-Length: 1000");
  expect((await get("a", "/small")).status).toBe(200);
  expect(memory.total).toBe(0);
});
