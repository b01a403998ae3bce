import { Tidemill, verifyCallback } from "@tidemill/sdk";
import { expect, vi } from "vitest";
import { FROZEN_AT } from "../../server/test/harness/postgres.ts";
import { test, until } from "../../server/test/harness/service.ts";
import { encodeJob } from "../src/enqueue/encode-job.ts";

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

test("a delay with a unit is sent as the number that the service takes", async ({ service }) => {
  const tidemill = new Tidemill({ url: service.node.url, key: service.key });
  const queue = tidemill.queue(await service.queue());
  const dueAfter = ({ created_at, run_at }: { created_at: string; run_at: string | null }) =>
    Date.parse(run_at ?? "") - Date.parse(created_at);

  expect(dueAfter(await queue.enqueue(1, { delay: "15m" }))).toBe(900_000);
  const [, second] = await queue.enqueueMany([{ payload: 1 }, { payload: 2, delay: "1500ms" }]);
  expect(second && dueAfter(second)).toBe(2_000);
  expect(JSON.parse(encodeJob(1, { backoff: { delay: "2s" } }).text)).toEqual({ payload: 1, backoff: { delay: 2_000 } });
});

test("a run is started after a delay with a unit", async ({ service }) => {
  const tidemill = new Tidemill({ url: service.node.url, key: service.key });
  await tidemill.workflows.put("delayed");
  const { runIds } = await tidemill.workflows.trigger("delayed", { delay: "2h" });
  const { triggered } = await tidemill.workflows.triggerMany("delayed", { triggers: [{ delay: "2h" }] });
  for (const id of [...runIds, ...(triggered[0]?.runIds ?? [])]) {
    const { gates } = await tidemill.runs.explain(id);
    const due = gates.find(({ gate }) => gate === "due");
    expect(due).toMatchObject({ holds: true, figures: { dueAt: "2026-11-21T14:00:00.000Z" } });
  }
});

test("a delay that is not a duration is refused with its path", async ({ service }) => {
  const tidemill = new Tidemill({ url: service.node.url, key: service.key });
  const message = (path: string) => `${path} must be a number, or a string such as "90s", "24h" or "7d".`;
  const calls: [Promise<unknown>, string][] = [
    [tidemill.queue("emails").enqueue(1, { delay: "soon" as never }), "delay"],
    [tidemill.queue("emails").enqueue(1, { backoff: { delay: "1w" as never } }), "backoff.delay"],
    [tidemill.queue("emails").enqueueMany([{ payload: 1, delay: "-1s" }]), "jobs[0].delay"],
    [tidemill.workflows.trigger("onboard", { delay: "soon" as never }), "delay"],
    [tidemill.workflows.triggerMany("onboard", { triggers: [{}, { delay: "soon" as never }] }), "triggers[1].delay"],
  ];
  for (const [call, path] of calls) await expect(call).rejects.toMatchObject({ code: "VALIDATION_ERROR", message: message(path) });
});
