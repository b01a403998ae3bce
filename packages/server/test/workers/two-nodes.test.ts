import type { TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { sql } from "#kernel";
import { laneOf } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { joinedBy, NEVER_POLL, testWith } from "../harness/nodes.ts";
import type { Service } from "../harness/service.ts";
import { whileUnreadable } from "../harness/unreadable-secrets.ts";
import { proofOf, settle, take, takeOne, work } from "../harness/workers.ts";
import { putWorkflow } from "../harness/workflows.ts";

const settleRun = (node: Service, { runId: id, lease_token }: TakenRun, result: unknown) =>
  work(node, { settle: [{ id, lease_token, outcome: "completed", result }] });

const test = testWith(NEVER_POLL).extend("other", async ({ service }, { onCleanup }): Promise<Service> => {
  const other = await joinedBy(service, NEVER_POLL);
  onCleanup(() => other.node.stop());
  return other;
});

describe("a worker that asks one of two nodes", () => {
  test("gets a job that is enqueued on the other", async ({ service, other }) => {
    const queue = await service.queue();
    const waiting = take(other, queue, { wait: 30 });
    expect(await take(other, queue, { worker: "w2" })).toEqual([]);
    const { id } = await service.enqueue({ queue });
    expect(await waiting).toMatchObject([{ id }]);
  });

  test("is told of a cancel on the other", async ({ service, other }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    await takeOne(other, queue);
    const waiting = work(other, { queues: [queue], wait: 30 });
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    expect(await waiting).toMatchObject({ jobs: [], cancelled: [id] });
  });

  test("gets the next job of a queue with a limit when one is settled on the other", async ({ service, other }) => {
    const queue = await service.queue({ concurrency: 1 });
    for (const payload of [1, 2]) await service.enqueue({ queue, payload });
    const held = await takeOne(service, queue);
    expect(await take(other, queue)).toEqual([]);
    const waiting = take(other, queue, { wait: 30 });
    await settle(service, held, { outcome: "completed" });
    expect(await waiting).toMatchObject([{ payload: 2 }]);
  });

  test("gets the next job of a queue that got a limit while the other held a job, when that one ends", async ({ service, other }) => {
    const queue = await service.queue();
    for (const payload of [1, 2]) await service.enqueue({ queue, payload });
    const held = await takeOne(service, queue);
    await other.ok("PATCH", `/v1/queues/${queue}`, { concurrency: 1 });
    expect(await take(other, queue)).toEqual([]);
    const waiting = take(other, queue, { wait: 30 });
    await settle(service, held, { outcome: "completed" });
    expect(await waiting).toMatchObject([{ payload: 2 }]);
  });

  test("gets the next job of a queue that lost its callback_url during a callback of the other, when that one ends", async ({
    service,
    other,
  }) => {
    const [called, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const handler = await service.handler();
    handler.answers = async () => {
      called.resolve();
      await ended.promise;
      return 200;
    };
    // It starts eagerly on this node.
    await service.enqueue({ queue: handler.queue, payload: 1 });
    await called.promise;
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { callback_url: null, concurrency: 1 });
    await service.enqueue({ queue: handler.queue, payload: 2 });
    expect(await take(other, handler.queue)).toEqual([]);
    const waiting = take(other, handler.queue, { wait: 30 });
    ended.resolve();
    expect(await waiting).toMatchObject([{ payload: 2 }]);
  });

  test("settles on the other, which keeps no secret of the result", async ({ service, other }) => {
    const value = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
    await service.ok("POST", "/v1/secrets", { name: "STRIPE_KEY", value });
    const queue = await service.queue();
    await service.enqueue({ queue, payload: "${{ secrets.STRIPE_KEY }}" });
    const job = await takeOne(other, queue);
    expect(job.payload).toBe(value);
    expect(await settle(service, job, { outcome: "completed", result: [value] })).toMatchObject({ ok: true });
    expect(await service.job({ queue, id: job.id })).toMatchObject({ state: "completed", result: ["[secret:STRIPE_KEY]"] });
    const { data } = await service.ok("GET", "/v1/audit-events?event_type=secret.accessed");
    expect(data.map(({ input }: { input: { host: string } }) => input.host)).toEqual(["worker w1", "worker w1"]);
  });

  test("completes it on the other when that can read its secret again", async ({ service, other }) => {
    await service.ok("POST", "/v1/secrets", { name: "AWAY_KEY", value: "sk_live_4eC39HqLyjWDarjtT1zdp7dc" });
    const queue = await service.queue();
    await service.enqueue({ queue, payload: "${{ secrets.AWAY_KEY }}" });
    const { id, lease_token } = await takeOne(other, queue);
    const complete = () => service.api("POST", `/v1/queues/${queue}/jobs/${id}/complete`, { lease_token, result: 1 });
    const refused = await whileUnreadable(service, complete);
    expect([refused.status, refused.body.error.code]).toEqual([503, "UNAVAILABLE"]);
    expect((await complete()).status).toBe(204);
    expect(await service.job({ queue, id })).toMatchObject({ state: "completed", result: 1 });
  });

  test("settles on the other, which keeps no secret of a payload that has its templates escaped", async ({ service, other }) => {
    const value = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
    await service.ok("POST", "/v1/secrets", { name: "ESCAPED_KEY", value });
    const queue = await service.queue();
    const { id } = await service.ok("POST", `/v1/queues/${queue}/jobs`, `{"payload":"\\u0024\\u007b\\u007b secrets.ESCAPED_KEY }}"}`);
    const job = await takeOne(other, queue);
    expect(job.payload).toBe(value);
    expect(await settle(service, job, { outcome: "completed", result: [value] })).toMatchObject({ ok: true });
    expect(await service.job({ queue, id })).toMatchObject({ state: "completed", result: ["[secret:ESCAPED_KEY]"] });
  });

  test.for(["completed", "failed"])(
    "settles on the other, which keeps no value that was rotated meanwhile: %s",
    async (outcome, { service, other }) => {
      const value = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
      const name = `ROTATED_${outcome.toUpperCase()}`;
      await service.ok("POST", "/v1/secrets", { name, value });
      const queue = await service.queue();
      const { id } = await service.enqueue({ queue, payload: `\${{ secrets.${name} }}`, attempts: 1 });
      const job = await takeOne(other, queue);
      for (const next of ["second value", "third value"]) {
        await service.advance(1);
        await service.ok("PATCH", `/v1/secrets/${name}`, { value: next });
      }
      const texts = `${value}, second value, third value`;
      const report = outcome === "completed" ? { outcome, result: texts } : { outcome, error: texts };
      expect(await settle(service, job, report)).toMatchObject({ ok: true });
      const { result, last_error, state } = await service.job({ queue, id });
      const mark = `[secret:${name}]`;
      expect([state, result ?? last_error.message]).toEqual([outcome, `${mark}, ${mark}, ${mark}`]);
    },
  );

  test("settles on the other, which keeps no value whose rotation had begun before the claim", async ({ service, other, engine }) => {
    const value = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
    await service.ok("POST", "/v1/secrets", { name: "SLOW_KEY", value });
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, payload: "${{ secrets.SLOW_KEY }}" });
    const { workspaceId } = await laneOf(service, queue);
    const chain = hold(engine, sql`select from audit_chain where workspace_id = ${workspaceId} for update`);
    await chain.held;
    const rotating = service.ok("PATCH", "/v1/secrets/SLOW_KEY", { value: "another value" });
    await chain.untilWaiting(1);
    await service.advance(1);
    const taking = takeOne(other, queue);
    await chain.untilWaiting(2);
    await chain.release();
    await rotating;
    const job = await taking;
    expect(job.payload).toBe(value);
    expect(await settle(service, job, { outcome: "completed", result: value })).toMatchObject({ ok: true });
    expect(await service.job({ queue, id })).toMatchObject({ state: "completed", result: "[secret:SLOW_KEY]" });
  });

  test("settles on the other though the limits of a secret were changed meanwhile", async ({ service, other }) => {
    const value = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
    await service.ok("POST", "/v1/secrets", { name: "LIMITED_KEY", value });
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, payload: "${{ secrets.LIMITED_KEY }}" });
    const job = await takeOne(other, queue);
    await service.advance(1);
    await service.ok("PATCH", "/v1/secrets/LIMITED_KEY", { allowed_queues: ["another"], allowed_hosts: ["example.com"] });
    expect(await settle(service, job, { outcome: "completed", result: { value, n: 1 } })).toMatchObject({ ok: true });
    expect(await service.job({ queue, id })).toMatchObject({ state: "completed", result: { value: "[secret:LIMITED_KEY]", n: 1 } });
  });

  test("gets the same jobs again by a repeated call on the other after the limits of a secret were changed", async ({ service, other }) => {
    await service.ok("POST", "/v1/secrets", { name: "WIDENED_KEY", value: "s3cr3t-value" });
    const queue = await service.queue();
    await service.enqueue({ queue, payload: "${{ secrets.WIDENED_KEY }}" });
    const first = await takeOne(service, queue, { request: "r1" });
    await service.advance(1);
    await service.ok("PATCH", "/v1/secrets/WIDENED_KEY", { allowed_queues: [queue] });
    expect(await take(other, queue, { request: "r1" })).toEqual([first]);
  });

  test("has nothing kept of its report when a node of an earlier version has rotated a secret", async ({ service, other }) => {
    const value = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
    await service.ok("POST", "/v1/secrets", { name: "EARLIER_KEY", value });
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, payload: "${{ secrets.EARLIER_KEY }}" });
    const job = await takeOne(other, queue);
    await service.advance(1);
    await service.ok("PATCH", "/v1/secrets/EARLIER_KEY", { value: "another value" });
    // As if it did not know the columns.
    await service.database.query(
      "update secret set former = null, former_until = null, former_as_of = null, updated_at = moment() where name = 'EARLIER_KEY'",
    );
    expect(await settle(service, job, { outcome: "completed", result: [value] })).toMatchObject({ ok: true });
    expect(await service.job({ queue, id })).toMatchObject({ state: "completed", result: null });
  });

  test("gets a job anew, not by a repeated call on the other, when a secret of it was rotated meanwhile", async ({ service, other }) => {
    const values = ["sk_live_4eC39HqLyjWDarjtT1zdp7dc", "sk_live_9Zq81LmTwRbNcVxKsPgYhJ2u"];
    await service.ok("POST", "/v1/secrets", { name: "REPEATED_KEY", value: values[0] });
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, payload: "${{ secrets.REPEATED_KEY }}", attempts: 1 });
    const first = await takeOne(service, queue, { request: "r1" });
    expect(first.payload).toBe(values[0]);
    await service.advance(1);
    await service.ok("PATCH", "/v1/secrets/REPEATED_KEY", { value: values[1] });
    expect(await take(other, queue, { request: "r1" })).toEqual([]);
    expect(await settle(service, first, { outcome: "completed", result: values })).toMatchObject({ code: "LEASE_LOST" });
    const second = await takeOne(other, queue, { request: "r2", wait: 30 });
    expect(second).toMatchObject({ id, payload: values[1] });
    expect(second.lease_token).not.toBe(first.lease_token);
    await settle(service, second, { outcome: "completed", result: second.payload });
    expect(await service.job({ queue, id })).toMatchObject({ state: "completed", result: "[secret:REPEATED_KEY]" });
  });

  test("gets a run anew, too, when a secret of its input was rotated meanwhile", async ({ service, other }) => {
    const values = ["sk_live_4eC39HqLyjWDarjtT1zdp7dc", "sk_live_9Zq81LmTwRbNcVxKsPgYhJ2u"];
    await service.ok("POST", "/v1/secrets", { name: "INPUT_KEY", value: values[0] });
    const { id, trigger, end, get } = await putWorkflow(service, { attempts: 1 });
    const runId = await trigger({ input: "${{ secrets.INPUT_KEY }}" });
    const call = (node: Service, more: object) => work(node, { workflows: [id], ...more });
    const [first] = (await call(service, { request: "r1" })).runs;
    expect(first).toMatchObject({ runId, input: values[0] });
    await service.advance(1);
    await service.ok("PATCH", "/v1/secrets/INPUT_KEY", { value: values[1] });
    expect((await call(other, { request: "r1" })).runs).toEqual([]);
    const [second] = (await call(other, { request: "r2", wait: 30 })).runs;
    expect(second).toMatchObject({ runId, input: values[1], attempt: 1 });
    expect(await end(first as TakenRun, { outcome: "completed", result: values })).toMatchObject({ code: "LEASE_LOST" });
    await settleRun(other, second as TakenRun, values[1]);
    expect(await get(runId)).toMatchObject({ status: "completed", result: "[secret:INPUT_KEY]" });
  });

  test("is told that a job was cancelled when its queue is deleted on the other", async ({ service, other }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    await takeOne(other, queue);
    const waiting = work(other, { queues: [await service.queue()], wait: 30 });
    await service.api("DELETE", `/v1/queues/${queue}`);
    expect(await waiting).toMatchObject({ jobs: [], cancelled: [id] });
  });

  test.for(["service", "other"] as const)(
    "is told that a job of the other was cancelled when its queue is deleted on: %s",
    async (deletes, { service, other }) => {
      const [queue, another] = [await service.queue(), await service.queue()];
      const { id } = await service.enqueue({ queue });
      const worker = `holds-at-${deletes}`;
      await takeOne(service, queue, { worker });
      expect(await take(other, another, { worker })).toEqual([]);
      const waiting = work(other, { worker, queues: [another], wait: 30 });
      await { service, other }[deletes].api("DELETE", `/v1/queues/${queue}`);
      expect(await waiting).toMatchObject({ jobs: [], cancelled: [id] });
    },
  );

  test("is told that its queue was deleted on the other while it extends the lease of a job of the other", async ({ service, other }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    const extend = (wait: number) => other.ok("POST", "/v1/work/extend", { worker: "w1", leases: [proofOf(job)], wait });
    expect(await extend(0)).toMatchObject({ leases: [{ ok: true }], cancelled: [] });
    const extending = extend(30);
    await service.api("DELETE", `/v1/queues/${queue}`);
    expect((await extending).cancelled).toEqual([id]);
    expect(await extend(0)).toMatchObject({ leases: [{ id, ok: false }], cancelled: [id] });
  });

  test("stops waiting for a queue that gets a callback_url on the other", async ({ service, other }) => {
    const queue = await service.queue();
    const waiting = take(other, queue, { wait: 30 });
    expect(await take(other, queue, { worker: "w2" })).toEqual([]);
    await service.ok("PATCH", `/v1/queues/${queue}`, { callback_url: "http://127.0.0.1:9/callback" });
    expect(await waiting).toEqual([]);
    expect((await other.api("POST", "/v1/work", { worker: "w1", queues: [queue] })).body.error).toMatchObject({ code: "INVALID_STATE" });
  });

  test("gets nothing that was kept of a report when the secrets cannot be read any more", async ({ service, other }) => {
    const value = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
    await service.ok("POST", "/v1/secrets", { name: "GONE_KEY", value });
    const queue = await service.queue();
    await service.enqueue({ queue, payload: "${{ secrets.GONE_KEY }}" });
    const job = await takeOne(other, queue);
    await service.ok("DELETE", "/v1/secrets/GONE_KEY");
    expect(await settle(service, job, { outcome: "completed", result: [value] })).toMatchObject({ ok: true });
    expect(await service.job({ queue, id: job.id })).toMatchObject({ state: "completed", result: null });
  });
});
