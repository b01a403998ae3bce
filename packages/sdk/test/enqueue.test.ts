import { Tidemill, verifyCallback } from "@tidemill/sdk";
import { expect, vi } from "vitest";
import { FROZEN_AT } from "../../server/test/harness/postgres.ts";
import { test, until } from "../../server/test/harness/service.ts";

test("a job that the client enqueued reaches its handler, and the client reads its result", async ({ service }) => {
  const handler = await service.handler({
    answers: () => ({ status: 200, headers: { "content-type": "application/json" }, body: '{"sent":true}' }),
  });
  const tidemill = new Tidemill({ url: service.node.url, key: service.key });
  const queue = tidemill.queue<{ to: string }>(handler.queue);

  const { id } = await queue.enqueue({ to: "ada@example.com" }, { tag: "welcome" });

  await until(async () => (await queue.jobs.get(id)).state === "completed");
  expect(await queue.jobs.get(id)).toMatchObject({ payload: { to: "ada@example.com" }, tag: "welcome", result: { sent: true } });
  expect(handler.payloads).toEqual([{ to: "ada@example.com" }]);
});

test("the callback of a job is verified with the secret of its queue", async ({ service }) => {
  const handler = await service.handler();
  const { id } = await new Tidemill({ url: service.node.url, key: service.key }).queue(handler.queue).enqueue({ n: 1 });
  await until(() => handler.received.length > 0);
  const [{ headers, raw } = { headers: {}, raw: "" }] = handler.received;
  vi.setSystemTime(FROZEN_AT);
  try {
    expect(await verifyCallback({ headers, body: raw }, handler.secret)).toMatchObject({ id, payload: { n: 1 } });
  } finally {
    vi.useRealTimers();
  }
});
