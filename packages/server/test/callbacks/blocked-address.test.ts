import { describe, expect } from "vitest";
import { Canary } from "../harness/canary.ts";
import { testWith } from "../harness/nodes.ts";
import type { Service } from "../harness/service.ts";

const OPEN = "127.0.0.2";
const test = testWith({ TIDEMILL_ENV: "production", TIDEMILL_ALLOW_ADDRESSES: OPEN });

/** A job of a queue that was created with this address while more addresses were allowed. */
async function jobAt(service: Service, url: string): Promise<{ id: string; queue: string }> {
  const queue = await service.queue({ callback_url: "http://127.0.0.2:9/", paused: true });
  await service.database.query(
    `with l as (
       update lane set revision = revision + 1
       where workspace_id = (select workspace_id from api_key where hash = sha256($1::text::bytea)) and name = $2 returning id)
     update queue set callback_url = $3 from l where queue.id = l.id`,
    [service.key, queue, url],
  );
  const job = await service.enqueue({ queue });
  await service.ok("PATCH", `/v1/queues/${queue}`, { paused: false });
  return job;
}

async function recordAfter(service: Service, url: string) {
  const job = await jobAt(service, url);
  await service.untilState(job, "delayed");
  return service.job(job);
}

describe("in production", () => {
  test.for([
    "127.0.0.1",
    "localhost",
    "x.localhost",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
    "10.0.0.1",
    "169.254.169.254",
    "metadata.google.internal",
    "2130706433",
    "0x7f.1",
    "127.1",
  ])("a callback to %s does not leave: it is a failed attempt, BLOCKED_ADDRESS", async (host, { service, onTestFinished }) => {
    const canary = await Canary.listen();
    onTestFinished(() => canary.close());
    const record = await recordAfter(service, `http://${host}:${canary.port}/hook`);
    const error = { code: "BLOCKED_ADDRESS", message: expect.stringContaining("may not reach"), status: null };
    expect(record).toMatchObject({ attempt: 1, last_error: error, attempts_log: [{ attempt: 1, outcome: "failed", status: null, error }] });
    expect(canary.reached).toEqual([]);
  });

  test("the reason does not tell what a name resolves to", async ({ service }) => {
    const { last_error } = await recordAfter(service, "http://localhost:9/");
    expect(last_error.message).not.toMatch(/127\.0\.0\.1|::1/);
  });

  test("a callback to a blocked address is tried again like any other failure", async ({ service }) => {
    const job = await jobAt(service, "http://127.0.0.1:9/");
    await service.untilIdle();
    expect(await service.job(job)).toMatchObject({ state: "failed", attempt: 3, last_error: { code: "BLOCKED_ADDRESS" } });
  });

  test("an address that the operator opened is called", async ({ service, onTestFinished }) => {
    const canary = await Canary.listen();
    onTestFinished(() => canary.close());
    const queue = await service.queue({ callback_url: `http://${OPEN}:${canary.port}/` });
    await service.untilState(await service.enqueue({ queue }), "completed");
    expect(canary.reached).toEqual([OPEN]);
  });

  const locations = [
    "http://127.0.0.1:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "//127.0.0.1:PORT/",
    "http://127.0.0.2:PORT/again",
  ];

  test.for([301, 302, 303, 307, 308].flatMap((status) => locations.map((location) => [status, location] as const)))(
    "a redirect, %i to %s, is not followed: it is a failed attempt, REDIRECT",
    async ([status, location], { service, onTestFinished }) => {
      const target = await Canary.listen();
      const canary = await Canary.listen(
        `HTTP/1.1 ${status} Moved\r\nLocation: ${location.replace("PORT", String(target.port))}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
      );
      onTestFinished(async () => void (await Promise.all([target.close(), canary.close()])));
      const job = await service.enqueue({ queue: await service.queue({ callback_url: `http://${OPEN}:${canary.port}/` }) });
      await service.untilState(job, "delayed");
      expect(await service.job(job)).toMatchObject({ attempt: 1, last_error: { code: "REDIRECT", status } });
      expect([canary.reached, target.reached]).toEqual([[OPEN], []]);
    },
  );
});
