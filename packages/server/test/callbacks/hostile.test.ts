import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { describe, expect, type TestContext } from "vitest";
import { testWith } from "../harness/nodes.ts";
import { pourForever, RawServer } from "../harness/raw-server.ts";
import { type Service, until } from "../harness/service.ts";

const AT_ONCE = 16;
/** A queue alone has half of the node's slots. All the file's tests use the same few, so that those that are not free again are missed. */
const test = testWith({ TIDEMILL_CALLBACKS_IN_FLIGHT: String(2 * AT_ONCE) });

type Answer = (socket: Socket) => unknown;

/** So long that whatever ends, ends for another reason. */
const NEVER = { callback_timeout: 900 };
const SOON = { callback_timeout: 1 };
const TRICKLE_MS = 20;

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const GIGABYTE = `Content-Type: application/json\r\nContent-Length: ${2 ** 30}\r\n\r\n`;
const BOMB = gzipSync(Buffer.alloc(40 * 2 ** 20, "0"));
const BOMB_HEAD = `Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${BOMB.length}\r\n\r\n`;

const says =
  (...pieces: (string | Buffer)[]): Answer =>
  (socket) =>
    socket.write(Buffer.concat(pieces.map((piece) => Buffer.from(piece))));
const ends =
  (text: string): Answer =>
  (socket) =>
    socket.end(text);
const resets =
  (text: string): Answer =>
  (socket) =>
    socket.write(text, () => socket.resetAndDestroy());
const pours =
  (begin: string, piece: string): Answer =>
  (socket) => {
    socket.write(begin);
    pourForever(socket, piece);
  };
/** Writes one byte at a time, forever. */
const trickles =
  (begin: string): Answer =>
  async (socket) => {
    socket.write(begin);
    for (; !socket.destroyed; await setTimeout(TRICKLE_MS)) socket.write("x");
  };

async function listen(answer: Answer, onTestFinished: TestContext["onTestFinished"]): Promise<RawServer> {
  const server = await RawServer.listen((socket) => void answer(socket));
  onTestFinished(() => server.close());
  return server;
}

const untilAllLeft = (server: RawServer) => until(() => server.left === server.connections, "the connections to be closed");

/** Waits until the handler's job is in a state. Returns its record. */
async function recordAfter(service: Service, server: RawServer, settings: object, state: string) {
  const queue = await service.queue({ callback_url: server.url, ...settings });
  const job = await service.enqueue({ queue });
  await service.untilState(job, state);
  return service.job(job);
}

describe("what is no answer, or more than one may be, is a failed attempt at once: CONNECTION", () => {
  test.for([
    ["header lines without end", pours(OK, `X-More: ${"x".repeat(1_000)}\r\n`), /headers are too long/],
    ["a gigabyte of one header", pours(`${OK}X: `, "x".repeat(65_536)), /headers are too long/],
    ["the shortest headers, without end", pours(OK, "a:\r\n".repeat(10_000)), /headers are too long/],
    ["headers just over what they may be", says(`${OK}X: ${"x".repeat(16_384)}\r\nContent-Length: 2\r\n\r\nok`), /headers are too long/],
    [
      "hints and headers of too many lines together",
      says(`HTTP/1.1 103 Early\r\n\r\n${OK}${"a:\r\n".repeat(126)}\r\n`),
      /headers are too long/,
    ],
    ["a reason phrase without end", pours("HTTP/1.1 200 ", "x".repeat(65_536)), /headers are too long/],
    ["empty lines without end", pours("", "\r\n".repeat(10_000)), /headers are too long/],
    ["hints without end", pours("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100)), /headers are too long/],
    ["100 Continue without end", pours("", "HTTP/1.1 100 Continue\r\n\r\n".repeat(100)), /connection ended/],
    ["a chunk's extension without end", pours(`${CHUNKED}1;a=`, "x".repeat(65_536)), /chunks or trailers are too long/],
    ["extensions without end", pours(CHUNKED, `1;a=${"x".repeat(1_000)}\r\nx\r\n`), /chunks or trailers are too long/],
    ["trailers without end", pours(`${CHUNKED}1\r\nx\r\n0\r\n`, "a:\r\n".repeat(10_000)), /chunks or trailers are too long/],
    ["chunks of one byte without end", pours(CHUNKED, "1\r\nx\r\n".repeat(10_000)), /chunks are too small/],
    ["garbage", pours("", "\0\xff\x80garbage".repeat(1_000)), /does not match the HTTP\/1.1 protocol/],
    ["HTTP/0.9", ends("<html>hello</html>"), /does not match the HTTP\/1.1 protocol/],
    ["HTTP/2", ends("HTTP/2 200 OK\r\n\r\n"), /does not match the HTTP\/1.1 protocol/],
    ["an upgrade", says("HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"), /connection ended/],
    ["a 101 without an upgrade", says("HTTP/1.1 101 Switching\r\n\r\n"), /not valid HTTP/],
    ["a status that there is not", says("HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n"), /not valid HTTP/],
    ["two lengths", says(`${OK}Content-Length: 2\r\nContent-Length: 5\r\n\r\nhello`), /length/],
    ["a length below nothing", says(`${OK}Content-Length: -2\r\n\r\nhello`), /Content-Length/],
    ["a length and chunks", says(`${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`), /length/],
    ["chunks and a length", says(`${OK}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n5\r\nhello\r\n0\r\n\r\n`), /Content-Length/],
    ["a body shorter than its length", ends(`${OK}Content-Length: 100\r\n\r\nabc`), /connection ended/],
    ["chunks without the last", ends(`${CHUNKED}3\r\nabc\r\n`), /connection ended/],
    ["a reset in the head", resets(`${OK}Content-Le`), /ECONNRESET|connection ended/],
    ["a reset after the head", resets(`${OK}Content-Length: 100\r\n\r\n`), /ECONNRESET|connection ended/],
    ["a reset in the body", resets(`${OK}Content-Length: 100\r\n\r\nabc`), /ECONNRESET|connection ended/],
    ["a reset between chunks", resets(`${CHUNKED}3\r\nabc\r\n`), /ECONNRESET|connection ended/],
  ] as const)("what nobody asked for is nobody's answer: %s", async ([, answer, message], { service, onTestFinished }) => {
    const server = await listen(answer, onTestFinished);
    const record = await recordAfter(service, server, NEVER, "delayed");
    expect(record.last_error).toEqual({ code: "CONNECTION", message: expect.stringMatching(message), status: null });
    expect(record.last_error.message, "one line of plain text").toMatch(/^[\x20-\x7e]{10,150}$/);
    await untilAllLeft(server);
  });
});

describe("an answer whose body is too long counts by its status alone", () => {
  const lengths = [
    ["a gigabyte", GIGABYTE, "0,".repeat(30_000)],
    ["chunks without end", "Transfer-Encoding: chunked\r\n\r\n", `8000\r\n${"x".repeat(0x8000)}\r\n`],
    ["no length and no end", "\r\n", "x".repeat(60_000)],
  ] as const;

  test.for(lengths)("a 200 with %s completes the job without a result", async ([, head, piece], { service, onTestFinished }) => {
    const server = await listen(pours(OK + head, piece), onTestFinished);
    const record = await recordAfter(service, server, NEVER, "completed");
    expect(record).toMatchObject({ result: null, last_error: null });
    await untilAllLeft(server);
  });

  const tinyChunks = ["chunks of one byte without end", "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n".repeat(10_000)] as const;
  test.for([...lengths, tinyChunks])("a 500 with %s is a failed attempt", async ([, head, piece], { service, onTestFinished }) => {
    const server = await listen(pours(`HTTP/1.1 500 No\r\n${head}`, piece), onTestFinished);
    const record = await recordAfter(service, server, NEVER, "delayed");
    expect(record.last_error).toEqual({ code: "HTTP_STATUS", message: "The handler answered 500.", status: 500 });
    await untilAllLeft(server);
  });
});

describe("an answer that is packed is not unpacked", () => {
  test("a 200 whose body is a compressed bomb completes the job without a result", async ({ service, onTestFinished }) => {
    const server = await listen(says(OK + BOMB_HEAD, BOMB), onTestFinished);
    expect(await recordAfter(service, server, NEVER, "completed")).toMatchObject({ result: null, last_error: null });
  });

  test("a 500 whose body is a compressed bomb is a failed attempt", async ({ service, onTestFinished }) => {
    const server = await listen(says(`HTTP/1.1 500 No\r\n${BOMB_HEAD}`, BOMB), onTestFinished);
    const record = await recordAfter(service, server, NEVER, "delayed");
    expect(record.last_error).toEqual({ code: "HTTP_STATUS", message: expect.stringMatching(/^The handler answered 500/), status: 500 });
  });
});

describe.concurrent("a handler that is still at it at the deadline has failed: TIMEOUT", () => {
  test.for([
    ["says nothing", says()],
    ["says its head byte by byte", trickles(`${OK}X: `)],
    ["says its body byte by byte", trickles(`${OK}Content-Length: ${2 ** 20}\r\n\r\n`)],
    ["says its chunks byte by byte", trickles(`${CHUNKED}ffffff\r\n`)],
    ["does not end its trailers", says(`${CHUNKED}1\r\nx\r\n0\r\nX-A: 1\r\n`)],
    ["packs its transfer, and does not end it", says(`${OK}Transfer-Encoding: gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n`)],
    ["gives hints, and no answer", says("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")],
  ] as const)("a handler that %s until the deadline has failed: TIMEOUT", async ([, answer], { service, onTestFinished }) => {
    const server = await listen(answer, onTestFinished);
    const record = await recordAfter(service, server, SOON, "delayed");
    expect(record.last_error).toEqual({ code: "TIMEOUT", message: "The handler did not answer in time.", status: null });
    await untilAllLeft(server);
  });

  test("a handler that does not read the payload has failed at the deadline: TIMEOUT", async ({ service, onTestFinished }) => {
    const sockets: Socket[] = [];
    const server = createServer({ pauseOnConnect: true }, (socket) => sockets.push(socket.on("error", () => {})));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(async () => void server.close());
    const callback_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const queue = await service.queue({ callback_url, ...SOON });
    const job = await service.enqueue({ queue, payload: "x".repeat(1_000_000) });
    await service.untilState(job, "delayed");
    expect((await service.job(job)).last_error).toMatchObject({ code: "TIMEOUT" });
    for (const socket of sockets) socket.resume();
    await until(() => sockets.every(({ closed }) => closed), "the connection to be closed");
  });

  test("a handler whose status has come by the deadline has answered", async ({ service, onTestFinished }) => {
    const server = await listen(trickles("HTTP/1.1 503 No\r\nRetry-After: 60\r\nContent-Length: 1000000\r\n\r\n"), onTestFinished);
    const record = await recordAfter(service, server, { callback_timeout: 5 }, "delayed");
    expect(record.last_error).toEqual({ code: "HTTP_STATUS", message: "The handler answered 503.", status: 503 });
    await untilAllLeft(server);
  });
});

test("a body that only its connection's end can end is what came before a reset", async ({ service, onTestFinished }) => {
  const server = await listen(resets(`${OK}Content-Type: application/json\r\n\r\n{"a":`), onTestFinished);
  expect(await recordAfter(service, server, NEVER, "completed")).toMatchObject({ result: null });
});

describe("what nobody asked for is nobody's answer", () => {
  const answerOf = (result: string) => `${OK}Content-Type: application/json\r\nContent-Length: ${result.length}\r\n\r\n${result}`;

  test.for([
    ["a second answer with the first", `${answerOf("1")}${answerOf("666")}`, 1],
    ["a 204's body", `HTTP/1.1 204 No\r\n\r\n${answerOf("666")}`, null],
    ["what stands after a body's length", `${answerOf("1")}666`, 1],
  ] as const)("what nobody asked for is nobody's answer: %s", async ([, text, first], { service, onTestFinished }) => {
    const server = await listen((socket) => socket.write(server.requests.length === 1 ? text : answerOf("2")), onTestFinished);
    const queue = await service.queue({ callback_url: server.url });
    for (const result of [first, 2]) {
      const job = await service.enqueue({ queue });
      await service.untilState(job, "completed");
      expect((await service.job(job)).result).toBe(result);
    }
    expect(server.connections).toBe(2);
  });

  test("an answer between two requests is nobody's answer", async ({ service, onTestFinished }) => {
    const sockets: Socket[] = [];
    const server = await listen((socket) => socket.write(answerOf(String(sockets.push(socket)))), onTestFinished);
    const queue = await service.queue({ callback_url: server.url });
    await service.untilState(await service.enqueue({ queue }), "completed");
    sockets[0]?.write(answerOf("666"));
    await untilAllLeft(server);
    const job = await service.enqueue({ queue });
    await service.untilState(job, "completed");
    expect((await service.job(job)).result).toBe(2);
  });
});

test("a connection is not kept for as long as its handler asks", async ({ service, onTestFinished }) => {
  const server = await listen(says(`${OK}Keep-Alive: timeout=600\r\nContent-Length: 0\r\n\r\n`), onTestFinished);
  await service.untilState(await service.enqueue({ queue: await service.queue({ callback_url: server.url }) }), "completed");
  await untilAllLeft(server);
});

/**
 * Memory that is in use: what a collection of garbage leaves, on and off the heap. What the process has of the system besides
 * that depends on when it collects.
 */
describe("16 of a kind at once take at most 20 MB", () => {
  const MOST_BYTES = 20e6;
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;

  function used(): number {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  }

  /** The most that is used while the node reads what it will. */
  async function mostUsed(): Promise<number> {
    let most = 0;
    for (let sample = 0; sample < 10; sample += 1) {
      for (let turn = 0; turn < 20; turn += 1) await setImmediate();
      most = Math.max(most, used());
    }
    return most;
  }

  const tinyChunks = "1\r\nx\r\n".repeat(65_000);
  test.for([
    ["that pours headers", pours(OK, "a:\r\n".repeat(10_000))],
    ["that pours a gigabyte", pours(`${OK}${GIGABYTE}`, "0,".repeat(30_000))],
    ["that pours a gigabyte with its 500", pours(`HTTP/1.1 500 No\r\n${GIGABYTE}`, "0,".repeat(30_000))],
    ["that pours chunks", pours(CHUNKED, "1\r\nx\r\n".repeat(10_000))],
    ["that hangs with a bomb", says(OK + BOMB_HEAD.replace("Length: ", "Length: 9"), BOMB)],
    ["that hangs after the most headers", says(OK + "a:\r\n".repeat(126))],
    ["that hangs after more headers", says(OK + "a:\r\n".repeat(16_000))],
    ["that hangs after the most chunks of one byte", says(CHUNKED, "1\r\nx\r\n".repeat(1_000))],
    ["that hangs after more chunks of one byte", says(CHUNKED, tinyChunks)],
    ["that hangs in its trailers", says(CHUNKED, `1\r\nx\r\n0\r\n${"a:\r\n".repeat(200)}`)],
    ["that hangs in more trailers", says(CHUNKED, `1\r\nx\r\n0\r\n${"a:\r\n".repeat(16_000)}`)],
  ] as const)("16 callbacks to a handler %s take at most 20 MB", async ([, answer], { service, onTestFinished }) => {
    const server = await listen(answer, onTestFinished);
    const queue = await service.queue({ callback_url: server.url, ...NEVER, defaultJobOptions: { attempts: 1 } });
    const before = used();
    const batch = Array.from({ length: AT_ONCE }, (_, payload) => ({ payload }));
    await service.ok("POST", `/v1/queues/${queue}/jobs/batch`, batch);
    await until(() => server.requests.length === AT_ONCE, "the attempts");
    expect((await mostUsed()) - before).toBeLessThan(MOST_BYTES);
  });
});
