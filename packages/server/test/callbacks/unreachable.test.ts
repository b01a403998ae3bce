import { describe, expect } from "vitest";
import { brokenTls } from "../harness/broken-tls.ts";
import { closedPort, pourForever, RawServer } from "../harness/raw-server.ts";
import { type Service, test, until } from "../harness/service.ts";

/** Makes one attempt at an address. Returns the job's record after it has failed. */
async function recordAfter(service: Service, callback_url: string, settings: object = {}, state = "delayed") {
  const queue = await service.queue({ callback_url, ...settings });
  const job = await service.enqueue({ queue });
  await service.untilState(job, state);
  return service.job(job);
}

function expectFailed(record: { [field: string]: unknown }, code: string): void {
  const error = { code, message: expect.stringMatching(/\S/), status: null };
  expect(record).toMatchObject({ state: "delayed", attempt: 1, result: null, last_error: error });
  expect(record.attempts_log).toEqual([
    { attempt: 1, started_at: record.started_at, duration_ms: expect.any(Number), outcome: "failed", status: null, error, worker: null },
  ]);
}

describe("a handler that cannot be reached is a failed attempt", () => {
  test("a handler that nobody listens for is a failed attempt: CONNECTION", async ({ service }) => {
    expectFailed(await recordAfter(service, `http://127.0.0.1:${await closedPort()}/`), "CONNECTION");
  });

  test("a handler whose name does not exist is a failed attempt: DNS", async ({ service }) => {
    expectFailed(await recordAfter(service, "http://no-such-host.invalid/hook"), "DNS");
  });

  test("a handler that does not speak TLS is a failed attempt: CONNECTION", async ({ service }) => {
    const handler = await service.handler();
    expectFailed(await recordAfter(service, handler.url.replace("http:", "https:")), "CONNECTION");
  });
});

describe("a handler that breaks off is a failed attempt: CONNECTION", () => {
  test("a handler that breaks off with a reset is a failed attempt: CONNECTION", async ({ service }) => {
    const handler = await service.handler({ answers: "reset" });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "delayed");
    expectFailed(await service.job(job), "CONNECTION");
  });

  test.for([
    ["without a word", ""],
    ["in the middle of the headers", "HTTP/1.1 200 OK\r\nContent-Le"],
    ["in the middle of the body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"],
    ["in the middle of a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc"],
    ["with what is no HTTP", "hello\r\n\r\n"],
  ] as const)("a handler that breaks off %s is a failed attempt: CONNECTION", async ([, bytes], { service, onTestFinished }) => {
    const server = await RawServer.listen((socket) => socket.end(bytes));
    onTestFinished(() => server.close());
    expectFailed(await recordAfter(service, server.url), "CONNECTION");
  });
});

describe("a handler that takes longer than the queue's callback_timeout is a failed attempt: TIMEOUT", () => {
  const timeout = { callback_timeout: 1 };

  test("a handler that never answers within callback_timeout is a failed attempt: TIMEOUT", async ({ service }) => {
    const handler = await service.handler({ answers: "hang", ...timeout });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "delayed");
    expectFailed(await service.job(job), "TIMEOUT");
    await until(() => handler.aborted === 1, "the request to be broken off");
  });

  test("a handler to which no connection is made within callback_timeout is a failed attempt: TIMEOUT", async ({ service }) => {
    const record = await recordAfter(service, await brokenTls("hangs"), timeout);
    expectFailed(record, "TIMEOUT");
    expect(record.last_error).toMatchObject({ message: "No connection was made in time." });
  });

  test.for([
    ["headers", "HTTP/1.1 200 OK\r\nContent-Le"],
    ["body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"],
  ] as const)(
    "a handler whose %s do not end within callback_timeout is a failed attempt: TIMEOUT",
    async ([, bytes], { service, onTestFinished }) => {
      const server = await RawServer.listen((socket) => socket.write(bytes));
      onTestFinished(() => server.close());
      expectFailed(await recordAfter(service, server.url, timeout), "TIMEOUT");
      await until(() => server.left === 1, "the connection to be closed");
    },
  );
});

describe("a handler that does not stop talking", () => {
  test("a handler that does not stop sending headers is a failed attempt, and the connection is closed", async ({
    service,
    onTestFinished,
  }) => {
    const server = await RawServer.listen((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      pourForever(socket, `X-More: ${"x".repeat(1_000)}\r\n`);
    });
    onTestFinished(() => server.close());
    expectFailed(await recordAfter(service, server.url), "CONNECTION");
    await until(() => server.left === 1, "the connection to be closed");
  });

  test("a handler that does not stop sending the body of a 200 completes the job without a result, and the connection is closed", async ({
    service,
    onTestFinished,
  }) => {
    const server = await RawServer.listen((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[");
      pourForever(socket, "0,".repeat(4_096));
    });
    onTestFinished(() => server.close());
    const record = await recordAfter(service, server.url, {}, "completed");
    expect(record).toMatchObject({ result: null, last_error: null, attempts_log: [{ outcome: "completed", status: 200 }] });
    await until(() => server.left === 1, "the connection to be closed");
  });

  test("a handler that does not stop sending the body of a 500 is a failed attempt, and the connection is closed", async ({
    service,
    onTestFinished,
  }) => {
    const server = await RawServer.listen((socket) => {
      socket.write("HTTP/1.1 500 No\r\n\r\n");
      pourForever(socket, "no, ".repeat(4_096));
    });
    onTestFinished(() => server.close());
    const record = await recordAfter(service, server.url);
    expect(record).toMatchObject({ last_error: { code: "HTTP_STATUS", status: 500 }, attempts_log: [{ outcome: "failed", status: 500 }] });
    await until(() => server.left === 1, "the connection to be closed");
  });
});

test("hints before the answer do not count as the answer", async ({ service, onTestFinished }) => {
  const server = await RawServer.listen((socket) =>
    socket.end("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
  );
  onTestFinished(() => server.close());
  const record = await recordAfter(service, server.url, {}, "completed");
  expect(record.attempts_log).toMatchObject([{ outcome: "completed", status: 200 }]);
});

test("a job whose handler stays away fails with the last reason, and every attempt is logged", async ({ service }) => {
  const queue = await service.queue({ callback_url: `http://127.0.0.1:${await closedPort()}/` });
  const job = await service.enqueue({ queue });
  await service.untilIdle();
  const record = await service.job(job);
  expect(record).toMatchObject({ state: "failed", attempt: 3, last_error: { code: "CONNECTION" } });
  expect(record.attempts_log.map(({ attempt, error }: { attempt: number; error: { code: string } }) => [attempt, error.code])).toEqual([
    [1, "CONNECTION"],
    [2, "CONNECTION"],
    [3, "CONNECTION"],
  ]);
});
