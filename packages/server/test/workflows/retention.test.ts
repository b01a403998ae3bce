import { expect, onTestFinished } from "vitest";
import { Database, uuidOf } from "#kernel";
import { sweepEventKeysAcrossWorkspaces, sweepExpiredRunsAcrossWorkspaces } from "#workflows";
import { readRunId } from "../../src/workflows/runs/run.ts";
import { invoking } from "../harness/invoking.ts";
import { limitedTo } from "../harness/limits.ts";
import { type Service, test } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const DAY = 86_400;

const sweeperOf = (service: Service): (() => Promise<void>) => {
  const engine = new Database({ connection: { connectionString: service.database.url }, size: 1, statementTimeoutMs: 10_000 });
  onTestFinished(() => engine.close());
  return async () => {
    while ((await sweepExpiredRunsAcrossWorkspaces(engine)) === 0);
    while ((await sweepEventKeysAcrossWorkspaces(engine)) === 0);
  };
};

test("the idempotency key of a trigger lasts as long as its run, and goes with it (Workflow behavior 7)", async ({ service }) => {
  const limited = await limitedTo(service, { retention_days: 7 });
  const { id, take, end } = await putWorkflow(limited);
  const send = () => limited.ok("POST", `/v1/workflows/${id}/trigger`, { idempotencyKey: "k" });
  const sweep = sweeperOf(service);
  await send();
  const begun = await take();
  const { runId } = begun;
  // A run that has not ended keeps its key, however old it is.
  const steps = [{ key: "nap", type: "sleep", status: "waiting", sleepFor: 30 * DAY * 1_000 }];
  await end(begun, { outcome: "suspended", steps });
  await service.clock.advance(31 * DAY);
  await sweep();
  expect(await send()).toMatchObject({ duplicate: true, runIds: [runId] });
  await end(await take(), { outcome: "completed" });
  await service.clock.advance(7 * DAY - 1);
  await sweep();
  expect(await send()).toMatchObject({ duplicate: true, runIds: [runId] });
  await service.clock.advance(2);
  await sweep();
  expect((await limited.api("GET", `/v1/runs/${runId}`)).status).toBe(404);
  expect(await send()).toMatchObject({ duplicate: false });
});

test("the key of an event goes with the last run that the event started, and not before its retention ends", async ({ service }) => {
  const limited = await limitedTo(service, { retention_days: 7 });
  const { take, end } = await putWorkflow(limited, { events: ["a"] });
  const send = () => limited.ok("POST", "/v1/events", { name: "a", idempotencyKey: "k" });
  const sweep = sweeperOf(service);
  await send();
  const run = await take({ lease: 43_200 });
  await service.clock.advance(3_600);
  await end(run, { outcome: "completed" });
  await service.clock.advance(7 * DAY - 3_599);
  await sweep();
  expect(await send()).toMatchObject({ duplicate: true, runIds: [run.runId] });
  await service.clock.advance(DAY);
  await sweep();
  expect(await send()).toMatchObject({ duplicate: false });
});

test("a run whose steps are still to be undone is kept until they are", async ({ service }) => {
  const limited = await limitedTo(service, { retention_days: 7 });
  const { trigger, take, end, get } = await putWorkflow(limited);
  const sweep = sweeperOf(service);
  const runId = await trigger();
  const { lease_token } = await take({ lease: 43_200 });
  const steps = [{ key: "pay", type: "run", status: "completed", undoable: true }];
  await limited.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });
  await limited.ok("POST", `/v1/runs/${runId}/cancel`);
  await service.clock.advance(8 * DAY);
  await sweep();
  expect(await get(runId)).toMatchObject({ status: "cancelled" });
  const undo = await take();
  expect(undo).toMatchObject({ runId, undo: true, journal: [{ key: "pay" }] });
  expect(await end(undo, { outcome: "completed", steps: [{ key: "undo(pay)", type: "undo", status: "completed" }] })).toMatchObject({
    ok: true,
  });
  await service.clock.advance(3_600);
  await sweep();
  expect((await limited.api("GET", `/v1/runs/${runId}`)).status).toBe(404);
});

test("runs that are kept do not keep a sweep from those that go", async ({ service }) => {
  const limited = await limitedTo(service, { retention_days: 7 });
  const { trigger, take, end } = await putWorkflow(limited);
  const sweep = sweeperOf(service);
  const lastId = await trigger();
  await end(await take(), { outcome: "completed" });
  await service.database.query("update run set expires_at = expires_at + interval '1 hour' where id = $1", [readRunId(lastId)]);
  const cancelledId = await trigger();
  const { lease_token } = await take();
  const steps = [{ key: "pay", type: "run", status: "completed", undoable: true }];
  await limited.ok("POST", `/v1/runs/${cancelledId}/steps`, { lease_token, steps });
  await limited.ok("POST", `/v1/runs/${cancelledId}/cancel`);
  await service.database.query(
    `with kept as (
       insert into run select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid()))).* from run r, generate_series(2, 1200) where id = $1
       returning id
     )
     insert into job select (jsonb_populate_record(j, jsonb_build_object('id', kept.id))).* from job j, kept where j.id = $1`,
    [readRunId(cancelledId)],
  );
  const count = () =>
    service.database.query("select count(*)::int as runs from run where workspace_id = $1", [uuidOf("ws", limited.workspaceId)]);
  await service.clock.advance(8 * DAY);
  await sweep();
  expect(await count()).toEqual([{ runs: 1_200 }]);
  expect((await limited.api("GET", `/v1/runs/${lastId}`)).status).toBe(404);
  await service.database.query("delete from job where workspace_id = $1", [uuidOf("ws", limited.workspaceId)]);
  await service.clock.advance(3_600);
  await sweep();
  expect(await count()).toEqual([{ runs: 0 }]);
});

test("a run that another one has invoked is kept until that has read its outcome", async ({ service }) => {
  const limited = await limitedTo(service, { retention_days: 7 });
  const { parent, child, parentId, childId } = await invoking(limited);
  const sweep = sweeperOf(service);
  await child.end(await child.take(), { outcome: "completed", result: 1 });
  await service.clock.advance(8 * DAY);
  await sweep();
  const run = await parent.take();
  expect(run).toMatchObject({ runId: parentId, journal: [{ status: "completed", output: { result: 1, runId: childId } }] });
  await service.clock.advance(3_600);
  await sweep();
  expect((await limited.api("GET", `/v1/runs/${childId}`)).status).toBe(404);
});
