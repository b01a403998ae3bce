import { verifyCallback } from "@tidemill/sdk";
import { expect, vi } from "vitest";
import { until } from "../../server/test/harness/service.ts";
import { test } from "./harness/client.ts";
import { failureOf } from "./harness/failure.ts";

test("queues are created, read, changed and deleted", async ({ clients: { tidemill } }) => {
  const made = await tidemill.queues.create({ name: "emails", callback_url: "http://127.0.0.1:9/", concurrency: 2 });
  expect(made.callback_secret).toMatch(/^cbs_/);
  expect(await tidemill.queues.update("emails", { paused: true })).toMatchObject({ paused: true });
  const { concurrency, metrics, circuit } = await tidemill.queues.get("emails");
  expect([concurrency, metrics.waiting, circuit.state]).toEqual([2, 0, "closed"]);
  expect(await tidemill.queues.delete("emails")).toBeUndefined();
  expect(await failureOf(tidemill.queues.get("emails"))).toMatchObject({ code: "NOT_FOUND" });
});

test("jobs are listed, explained, cancelled, removed and retried", async ({ service, clients: { tidemill } }) => {
  const queue = tidemill.queue(await service.queue());
  const { id } = await queue.enqueue({ n: 1 }, { delay: 60 });
  expect((await queue.jobs.list({ state: "delayed" })).data.map((job) => job.id)).toEqual([id]);
  expect((await queue.jobs.explain(id)).held_by).toContain("due");
  expect(await queue.jobs.cancelOrRemove(id)).toMatchObject({ id, state: "cancelled" });
  expect(await queue.jobs.retry(id)).toMatchObject({ state: "waiting" });
  await queue.jobs.cancelOrRemove(id);
  expect(await queue.jobs.cancelOrRemove(id)).toBeNull();
  expect(await failureOf(queue.jobs.get(id))).toMatchObject({ code: "NOT_FOUND" });
});

test("jobs of approval queues are listed and decided", async ({ clients: { tidemill } }) => {
  await tidemill.queues.create({ name: "payouts", type: "approval" });
  const queue = tidemill.queue("payouts");
  const [paid, refused] = [await queue.enqueue(1), await queue.enqueue(2)];
  expect((await tidemill.approvals.list({ queue: "payouts" })).data).toHaveLength(2);
  expect(await queue.jobs.approve(paid.id, { by: "ada" })).toMatchObject({ state: "waiting", approval: { by: "ada" } });
  expect(await queue.jobs.reject(refused.id)).toMatchObject({ state: "rejected" });
  expect(await failureOf(queue.jobs.approve(refused.id))).toMatchObject({ code: "INVALID_STATE", details: { state: "rejected" } });
});

test("failed jobs are listed, retried and purged", async ({ service, clients: { tidemill } }) => {
  const handler = await service.handler({ answers: 410 });
  const queue = tidemill.queue(handler.queue);
  const { id } = await queue.enqueue({}, { tag: "welcome" });
  await service.untilState({ id, queue: handler.queue }, "failed");
  expect((await tidemill.deadLetters.list({ queue: handler.queue, tag: "welcome" })).data).toMatchObject([{ id }]);
  expect(await tidemill.deadLetters.retry({ queue: handler.queue })).toEqual({ retried: 1 });
  await until(async () => (await queue.jobs.get(id)).attempt === 2 && (await queue.jobs.get(id)).state === "failed");
  expect(await tidemill.queues.retryAll(handler.queue, { tag: "other" })).toEqual({ retried: 0 });
  expect(await tidemill.deadLetters.purge({ queue: handler.queue })).toEqual({ purged: 1 });
});

test("jobs of all queues are listed, counted, and changed many at once; failed ones are grouped", async ({
  service,
  clients: { tidemill },
}) => {
  const handler = await service.handler({ answers: 410 });
  const failed = await tidemill.queue(handler.queue).enqueue({ to: "ada" });
  const waiting = await tidemill.queue(await service.queue()).enqueue({ to: "alan" });
  await service.untilState({ id: failed.id, queue: handler.queue }, "failed");
  expect((await tidemill.jobs.list()).data.map(({ id }) => id)).toEqual([waiting.id, failed.id]);
  expect((await tidemill.jobs.list({ payload_contains: "ada" })).data).toMatchObject([{ id: failed.id }]);
  expect(await tidemill.jobs.count({ state: "waiting,failed" })).toEqual({ count: 2, exact: true });
  const [group] = (await tidemill.deadLetters.groups()).data;
  expect(group).toMatchObject({ count: 1, error: { code: "HTTP_STATUS", status: 410 }, sample_job: { id: failed.id } });
  const ended = async (id: string) => (await tidemill.operations.get(id)).state === "completed";
  const cancel = await tidemill.jobs.cancel({ ids: [waiting.id] });
  const remove = await tidemill.jobs.remove({ filter: { fingerprint: group?.fingerprint as string } });
  await until(async () => (await ended(cancel.id)) && (await ended(remove.id)));
  expect((await tidemill.operations.list()).data).toMatchObject([
    { action: "remove", matched: 1, done: 1 },
    { action: "cancel", matched: 1, done: 1 },
  ]);
  const retry = await tidemill.jobs.retry({ filter: { state: "cancelled" } });
  await until(() => ended(retry.id));
  expect((await tidemill.jobs.list()).data).toMatchObject([{ id: waiting.id, state: "waiting" }]);
  expect(await failureOf(tidemill.operations.cancel(retry.id))).toMatchObject({ code: "INVALID_STATE" });
});

test("schedules are created, changed, paused, triggered and deleted", async ({ service, clients: { tidemill } }) => {
  const queue = await service.queue();
  const made = await tidemill.schedules.create({
    name: "nightly",
    queue,
    cron: "30 2 * * *",
    timezone: "Europe/Berlin",
    payload: { n: 1 },
  });
  expect(made).toMatchObject({ name: "nightly", state: "active" });
  expect(await tidemill.schedules.update("nightly", { cron: "@hourly" })).toMatchObject({ cron: "@hourly" });
  expect(await tidemill.schedules.pause("nightly")).toMatchObject({ state: "paused" });
  expect(await tidemill.schedules.resume("nightly")).toMatchObject({ state: "active" });
  expect(await tidemill.schedules.trigger("nightly")).toMatchObject({ queue, schedule: "nightly", payload: { n: 1 } });
  expect((await tidemill.schedules.list({ queue })).data.map(({ name }) => name)).toEqual(["nightly"]);
  expect((await tidemill.schedules.preview({ cron: "@daily", timezone: "UTC", count: 2 })).runs).toHaveLength(2);
  await tidemill.schedules.delete("nightly");
  expect(await failureOf(tidemill.schedules.get("nightly"))).toMatchObject({ code: "NOT_FOUND" });
});

test("secrets are created, changed and deleted, and never shown", async ({ clients: { tidemill } }) => {
  const made = await tidemill.secrets.create({ name: "TOKEN", value: "a-long-secret-value" });
  expect(made).toMatchObject({ name: "TOKEN", value_hint: "a-lo..." });
  expect(await tidemill.secrets.update("TOKEN", { allowed_hosts: ["example.com"] })).toMatchObject({ allowed_hosts: ["example.com"] });
  expect((await tidemill.secrets.list()).data.map(({ name }) => name)).toEqual(["TOKEN"]);
  expect(await failureOf(tidemill.secrets.create({ name: "TOKEN", value: "x" }))).toMatchObject({ code: "CONFLICT" });
  await tidemill.secrets.delete("TOKEN");
  expect((await tidemill.secrets.list()).data).toEqual([]);
});

test("keys are created and revoked", async ({ clients }) => {
  const { tidemill } = clients;
  const { id, key } = await tidemill.keys.create({ name: "Reader", role: "read" });
  const reader = clients.with({ key });
  await expect(reader.status()).resolves.toMatchObject({ status: "ok" });
  expect(await failureOf(reader.queues.create({ name: "no" }))).toMatchObject({
    code: "FORBIDDEN",
    details: { role: "read", needs: "write" },
  });
  await tidemill.keys.revoke(id);
  expect(await failureOf(reader.status())).toMatchObject({ code: "UNAUTHORIZED" });
  expect((await tidemill.keys.list()).data.map(({ name }) => name)).not.toContain("Reader");
});

test("status, usage and the audit log are read", async ({ service, clients: { tidemill } }) => {
  await tidemill.queues.create({ name: "emails" });
  await tidemill.queue("emails").enqueue({});
  const { workspace, jobs } = await tidemill.status();
  expect([workspace.id, jobs.waiting]).toEqual([service.workspaceId, 1]);
  expect(await tidemill.usage()).toMatchObject({ plan: "enterprise", executions: { jobs: 1 } });
  const { data } = await tidemill.auditEvents.list({ event_type: "queue.created" });
  expect(data).toMatchObject([{ resource_type: "queue", resource_id: "emails" }]);
});

test("a rotated secret signs from then on, and a receiver with both secrets accepts it", async ({ service, clients: { tidemill } }) => {
  const handler = await service.handler();
  const { callback_secret } = await tidemill.queues.update(handler.queue, { rotate_callback_secret: true });
  const { id } = await tidemill.queue(handler.queue).enqueue({});
  await until(() => handler.received.length > 0);
  const [received] = handler.received;
  const request = { headers: received?.headers ?? {}, body: received?.raw ?? "" };
  const now = Number(received?.headers["x-service-timestamp"]) * 1000;
  vi.setSystemTime(now);
  try {
    expect(await verifyCallback(request, [handler.secret, callback_secret as string])).toMatchObject({ id });
    expect(await failureOf(verifyCallback(request, handler.secret))).toMatchObject({ reason: "wrong_signature" });
  } finally {
    vi.useRealTimers();
  }
});
