import { expect } from "vitest";
import { JobKinds, releaseAll, Settler } from "#engine";
import type { Claim } from "#jobs";
import { Database, type JobId, sql } from "#kernel";
import type { LaneKey } from "#lanes";
import { putLane, putNode, test } from "../harness/engine.ts";
import { putJobs, stateOf } from "../harness/jobs.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { countWaiting, hold } from "../harness/locks.ts";
import { QUEUE_KINDS, rescue, rescueOf } from "../harness/rescue.ts";
import { until } from "../harness/service.ts";

// No node runs on this file's database. Only these tests rescue jobs.

test("a rescue looks for no more expired claims of a workspace while 1,000 of them wait to be settled, but for those of others", async ({
  database,
  engine,
}) => {
  const leaseId = await putNode(database, { alive: false });
  const putHooks = async (lane: LaneKey, count: number) => {
    const ids = await putJobs(database, lane, { state: "active", leaseId, count });
    await database.query("update job set kind = 'hook' where id = any($1)", [ids]);
    return ids;
  };
  const kinds = new JobKinds([
    { name: "hook", recorded: true, once: true, deliverer: { start: () => expect.fail(), enforceDeadlines: () => {} } },
  ]);
  let written = Promise.withResolvers<{ rows: unknown[] }>();
  const query = () => written.promise;
  const settler = new Settler({ query, transaction: (work) => work({ query }) }, kinds, () => {}, lockWaits());
  const settling = (ids: readonly JobId[]) => ids.filter((id) => settler.isSettling({ id, attempt: 1 } as Claim));
  const { rescue } = rescueOf(engine, kinds, settler);

  const many = await putHooks(await putLane(database), 1_200);
  expect([await rescue.passAcrossWorkspaces(), await rescue.passAcrossWorkspaces()]).toEqual([0, 0]);
  const [other = expect.fail()] = await putHooks(await putLane(database), 1);
  expect(await rescue.passAcrossWorkspaces()).toBeUndefined();
  expect([settling(many).length, settling([other])]).toEqual([1_000, [other]]);

  const first = settling(many);
  await database.query("delete from job where id = any($1)", [first]);
  written.resolve({ rows: [{ moved: 0, ids: [], opened: [] }] });
  await until(() => settling(first).length === 0, "the first ones to be settled");
  written = Promise.withResolvers();
  await rescue.passAcrossWorkspaces();
  expect(settling(many)).toHaveLength(200);
  settler.giveUp();
  written.resolve({ rows: [{ moved: 0, ids: [], opened: [] }] });
  await database.query("delete from job where lease_id = $1", [leaseId]);
});

test("a node that stops begins to wait for locked keys for some seconds only: others take back the rest", async ({
  database,
  engine,
  onTestFinished,
}) => {
  const db = new Database({ connection: { connectionString: database.url }, size: 3, statementTimeoutMs: 60_000 });
  onTestFinished(() => db.close());
  const leaseId = await putNode(database);
  const lanes = [await putLane(database), await putLane(database), await putLane(database)];
  const ids: JobId[] = [];
  for (const lane of lanes) ids.push(...(await putJobs(database, lane, { state: "active", leaseId })));
  await database.query("update job set concurrency_key = 'k', key_slot = 1 where lease_id = $1", [leaseId]);
  const locks = lanes.map(({ laneId }) => hold(engine, sql`select lock_keys(array[${laneId}::bigint], array['k'])`));
  await Promise.all(locks.map(({ held }) => held));
  let elapsedMs = 0;
  const waker = { wake: () => {}, wakeAt: () => {} };
  const released = releaseAll({ db, emit: () => {}, kinds: QUEUE_KINDS, clock: { elapsedMs: () => elapsedMs }, waker }, leaseId);
  await until(async () => (await countWaiting(database, "movable")) === 2, "two lanes to be waited for");
  elapsedMs = 5_000;
  await Promise.all(locks.map((lock) => lock.release()));
  await released;
  const states = await Promise.all(ids.map((id) => stateOf(database, id)));
  expect(states.toSorted()).toEqual(["active", "waiting", "waiting"]);
  // The lease has ended.
  await database.query("update lease set expires_at = now() where id = $1", [leaseId]);
  await rescue(engine);
  expect(await Promise.all(ids.map((id) => stateOf(database, id)))).toEqual(Array(3).fill("waiting"));
});
