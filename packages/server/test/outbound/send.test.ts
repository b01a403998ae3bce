import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAddressGuard, type Request, type Response, Sender } from "#outbound";
import { pourForever, RawServer } from "../harness/raw-server.ts";
import { until } from "../harness/service.ts";
import { stall } from "../harness/stall.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

let sender: Sender;
let server: RawServer;

beforeEach(() => {
  sender = new Sender(createAddressGuard({ allowLoopback: true, allowed: [] }));
});

afterEach(async () => {
  await sender.close();
  await server.close();
});

const request = (more: Partial<Request> = {}): Request => ({
  origin: `http://127.0.0.1:${server.port}`,
  path: "/hook",
  headers: {},
  body: Buffer.from("{}"),
  maxBodyBytes: 1_000,
  ...more,
});

/** Answers once the connection is free again, too. */
async function send(more: Partial<Request> = {}): Promise<Response> {
  const response = await new Promise<Response>((resolve) => void sender.send(request(more), resolve));
  await setImmediate();
  return response;
}

describe("a request", () => {
  test("a request answers with status, headers and body", async () => {
    server = await RawServer.listen((socket) => socket.write("HTTP/1.1 418 Teapot\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nno"));
    expect(await send()).toMatchObject({ kind: "responded", status: 418, headers: { "x-a": "1" }, body: Buffer.from("no") });
  });

  test("a request uses a connection that is open already", async () => {
    server = await RawServer.listen((socket) => socket.write(OK));
    for (let index = 0; index < 5; index += 1) expect(await send()).toMatchObject({ status: 200 });
    expect([server.requests.length, server.connections]).toEqual([5, 1]);
  });

  test.for([{ before: true }, { before: false }])(
    "a request uses another connection after the node was stalled, in which an idle one was closed (sent before: $before)",
    async ({ before }) => {
      server = await RawServer.listen((socket) => socket.write(OK));
      await send();
      // undici writes to an idle connection in the next turn of the event loop.
      const early = before ? send() : null;
      server.closeConnections();
      stall(1_500);
      expect(await (early ?? send())).toMatchObject({ status: 200 });
      expect(server.requests).toHaveLength(2);
    },
  );

  test("a request that began before the node was stalled goes on, and ends when the sender closes", async () => {
    server = await RawServer.listen((socket, text) => (text.includes("/quick") ? socket.write(OK) : undefined));
    const responses: Response[] = [];
    sender.send(request({ path: "/slow" }), (response) => responses.push(response));
    await until(() => server.requests.length === 1, "the request");
    stall(1_500);
    expect(await send({ path: "/quick" })).toMatchObject({ status: 200 });
    expect(responses).toEqual([]);
    await sender.close();
    expect(responses).toMatchObject([{ kind: "failed" }]);
    await until(() => server.left === 2, "both connections to be closed");
  });

  test("a request that began before the node was stalled leaves no connection open once it has ended", async () => {
    let respond = () => {};
    server = await RawServer.listen((socket, text) => {
      if (text.includes("/quick")) socket.write(OK);
      else respond = () => socket.write(OK);
    });
    const slow = send({ path: "/slow" });
    await until(() => server.requests.length === 1, "the request");
    stall(1_500);
    await send({ path: "/quick" });
    respond();
    expect(await slow).toMatchObject({ status: 200 });
    await until(() => server.left === 1, "the connection of before to be closed");
  });

  test("a request keeps a body of as many bytes as are wanted, and nothing of a longer one", async () => {
    for (const [length, kept] of [
      [1_000, 1_000],
      [1_001, null],
    ] as const) {
      server = await RawServer.listen((socket) =>
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n${"x".repeat(length)}`),
      );
      const response = await send();
      expect(response.kind === "responded" && (response.body?.length ?? null)).toBe(kept);
      if (length === 1_000) await server.close();
    }
  });

  test("a request whose answer is a little too long keeps its connection", async () => {
    server = await RawServer.listen((socket) => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n${"x".repeat(50_000)}`));
    await send();
    await send();
    expect(server.connections).toBe(1);
  });

  test("a request whose answer does not end is answered all the same, and its connection closed", async () => {
    server = await RawServer.listen((socket) => {
      socket.write("HTTP/1.1 202 Accepted\r\n\r\n");
      pourForever(socket, "x".repeat(10_000));
    });
    expect(await send()).toMatchObject({ kind: "responded", status: 202, body: null });
    await until(() => server.left === 1, "the connection to be closed");
  });

  test("a request that cannot even be made fails, and does not throw", async () => {
    server = await RawServer.listen((socket) => socket.write(OK));
    expect(await send({ headers: { "x-a": "a\r\nb" } })).toMatchObject({ kind: "failed" });
    expect(await send({ path: "no path" })).toMatchObject({ kind: "failed" });
    expect(server.requests).toEqual([]);
  });

  test("a request that is aborted fails at once with the reason, and its connection is closed", async () => {
    server = await RawServer.listen(() => {});
    const responses: Response[] = [];
    const abort = sender.send(request(), (response) => responses.push(response));
    await until(() => server.requests.length === 1, "the request");
    const reason = new Error("No longer wanted.");
    abort(reason);
    abort(new Error("Again."));
    expect(responses).toEqual([{ kind: "failed", error: reason }]);
    await until(() => server.left === 1, "the connection to be closed");
  });

  test("a request that is aborted before it leaves never leaves", async () => {
    server = await RawServer.listen((socket) => socket.write(OK));
    const responses: Response[] = [];
    sender.send(request(), (response) => responses.push(response))(new Error("No longer wanted."));
    expect(responses).toMatchObject([{ kind: "failed" }]);
    await send({ path: "/other" });
    expect(server.requests.map((text) => text.split(" ")[1])).toEqual(["/other"]);
  });

  test("a request that was answered is not changed by an abort", async () => {
    server = await RawServer.listen((socket) => socket.write(OK));
    const responses: Response[] = [];
    const abort = sender.send(request(), (response) => responses.push(response));
    await until(() => responses.length === 1, "the answer");
    abort(new Error("Too late."));
    expect(responses).toMatchObject([{ kind: "responded" }]);
  });
});
