import { describe, expect } from "vitest";
import { testWith } from "../harness/nodes.ts";
import { RawServer } from "../harness/raw-server.ts";
import type { Service } from "../harness/service.ts";

const test = testWith({ TIDEMILL_ENV: "production", TIDEMILL_ALLOW_ADDRESSES: "127.0.0.2" });

async function recordAfter(service: Service, callback_url: string, state = "delayed") {
  const queue = await service.queue({ callback_url });
  const job = await service.enqueue({ queue });
  await service.untilState(job, state);
  return service.job(job);
}

describe("in production", () => {
  test.for([
    "127.0.0.1",
    "localhost",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
    "10.0.0.1",
    "169.254.169.254",
    "2130706433",
    "0x7f.1",
    "127.1",
  ])("a callback to %s does not leave: a failed attempt, BLOCKED_ADDRESS", async (host, { service, onTestFinished }) => {
    const server = await RawServer.listen((socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    onTestFinished(() => server.close());
    const record = await recordAfter(service, `http://${host}:${server.port}/hook`);
    const error = { code: "BLOCKED_ADDRESS", message: expect.stringContaining("may not reach"), status: null };
    expect(record).toMatchObject({ attempt: 1, last_error: error, attempts_log: [{ attempt: 1, outcome: "failed", status: null, error }] });
    expect(server.requests).toEqual([]);
  });

  test("the reason does not tell what a name resolves to", async ({ service }) => {
    const { last_error } = await recordAfter(service, "http://localhost:9/");
    expect(last_error.message).not.toMatch(/127\.0\.0\.1|::1/);
  });

  test("it is tried again like any other failure", async ({ service }) => {
    const queue = await service.queue({ callback_url: "http://127.0.0.1:9/" });
    const job = await service.enqueue({ queue });
    await service.untilIdle();
    expect(await service.job(job)).toMatchObject({ state: "failed", attempt: 3, last_error: { code: "BLOCKED_ADDRESS" } });
  });
});
