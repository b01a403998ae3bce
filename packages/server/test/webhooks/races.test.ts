import { describe, expect } from "vitest";
import type { Claim } from "#jobs";
import { type Db, type JobId, sql, systemRandom, type Transactional, unavailable } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { sweepDeletedLanesAcrossWorkspaces } from "../../src/retention/sweep-lanes.ts";
import { disableFailingAcrossWorkspaces } from "../../src/webhooks/disable-failing.ts";
import { endDeliveriesAcrossWorkspaces, endFirstDeliveries } from "../../src/webhooks/end-deliveries.ts";
import { endOverdueAcrossWorkspaces } from "../../src/webhooks/expire.ts";
import { webhookKind } from "../../src/webhooks/kind.ts";
import { patchWebhook } from "../../src/webhooks/patch.ts";
import { auditLog, ids } from "../harness/audit.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putNode, test } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { isAnyLockAwaited, overlap, type Run, within } from "../harness/overlap.ts";
import { until } from "../harness/service.ts";
import { addWebhooks, makeDeliveries, putDeliveries, putEvent, putWebhook, statesOf } from "../harness/webhook-rows.ts";

const ERROR = { code: "HTTP_STATUS", message: "The handler responded with 500.", status: 500 } as const;

/** Switches a webhook off. */
const switchOff = (
  db: Transactional,
  { workspaceId }: LaneKey,
  more: { rotate_secret?: true } = {},
  abortJob: (id: JobId, leaseId: number) => void = () => {},
) =>
  patchWebhook(
    db,
    {
      random: systemRandom,
      ids,
      audit: auditLog,
      clock: { nowMs: () => 0, elapsedMs: () => 0 },
      guard: { refusesHost: () => false },
      aborter: { abortJob },
      emit: () => {},
    },
    { workspaceId, actorId: "system", plan: "team" },
    "alerts",
    { enabled: false, ...more },
  );

/** Marks a webhook as switched off, with deliveries to cancel. */
const markOff = (database: TestDatabase, { laneId }: LaneKey) =>
  database.query("update webhook set disabled_at = moment(), disabled_for = 'request', cancelling = true where id = $1", [laneId]);

const passes = { emit: () => {}, failed: new Set<LaneId>() };

/** Puts 102 webhooks of one workspace, and a later one of another. `settings` ends with the column of the moment. */
async function putHopeless(database: TestDatabase, settings: string): Promise<[bad: LaneKey, good: LaneKey]> {
  const [bad, good] = [await putWebhook(database), await putWebhook(database)];
  await addWebhooks(database, bad, 101);
  await database.query(
    `update webhook set ${settings} = moment() - interval '6 days' - case when workspace_id = $1 then interval '1 hour' else '0' end
     where workspace_id in ($1, $2)`,
    [bad.workspaceId, good.workspaceId],
  );
  return [bad, good];
}

/** A database that refuses each transaction on this workspace. */
const refusing = (engine: Transactional, { workspaceId }: LaneKey): Transactional => ({
  query: (statement) => engine.query(statement),
  transaction: (work) =>
    engine.transaction((tx) =>
      work({
        query: (statement) => (statement.values.includes(workspaceId) ? Promise.reject(new Error("Refused.")) : tx.query(statement)),
      }),
    ),
});

test("a webhook that has failed for five days is switched off after 101 that cannot be, and each of these is reported", async ({
  database,
  engine,
}) => {
  const [bad, good] = await putHopeless(database, "failing_since");
  const told: string[] = [];
  const disabling = {
    db: refusing(engine, bad),
    audit: auditLog,
    aborter: { abortJob: () => {} },
    emit: (event: string) => told.push(event),
    failed: new Set<LaneId>(),
  };
  expect(await disableFailingAcrossWorkspaces(disabling)).toBe(0);
  expect(told).toEqual(Array(100).fill("webhook_disable_failed"));
  await expect(disableFailingAcrossWorkspaces(disabling)).rejects.toThrow("Refused.");
  expect(told.filter((event) => event === "webhook_disabled")).toHaveLength(1);
  expect(told).toHaveLength(100 + 3 + 100);
  expect(await database.query("select from webhook where id = $1 and disabled_for = 'failing'", [good.laneId])).toHaveLength(1);
  await database.query("update webhook set failing_since = null where workspace_id = $1", [bad.workspaceId]);
});

/** Settles attempts that failed, with another one to follow. */
const settleFailed = async (tx: Db, lane: LaneKey, deliveries: readonly JobId[]): Promise<void> =>
  webhookKind({ start: () => expect.fail(), enforceDeadlines: () => {} }).settled?.(
    tx,
    deliveries.map((id) => ({
      claim: { ...lane, id, attempt: 1, startedAt: "2026-01-01T00:00:00.000Z" } as Claim,
      verdict: { kind: "retry", waitMs: 5_000, error: ERROR },
    })),
    () => {},
  );

describe("a webhook that is switched off", () => {
  test("ends the deliveries that a node makes at the same moment", async ({ database, engine }) => {
    const lane = await putWebhook(database);
    await putEvent(database, lane);
    const commit: Run = (work) => engine.transaction((tx) => work(within(tx)));
    await overlap(engine, commit, makeDeliveries, () => switchOff(engine, lane));
    expect(await statesOf(database, lane)).toEqual(["cancelled"]);
  });

  test("ends as many deliveries as it has, in portions, and tells which were being sent", async ({ database, engine }) => {
    const lane = await putWebhook(database);
    const deliveries = await putDeliveries(engine, database, lane, 5);
    const leaseId = await putNode(database);
    await database.query("update job set state = 'active', lease_id = $2 where id = $1", [deliveries[3], leaseId]);
    await markOff(database, lane);
    const aborted: [JobId, number][] = [];
    const ending = { ...passes, db: engine, aborter: { abortJob: (...job: [JobId, number]) => aborted.push(job) } };
    await endDeliveriesAcrossWorkspaces(ending, { chunk: 2, ofPass: 6 });
    expect(aborted).toEqual([[deliveries[3], leaseId]]);
    expect(await statesOf(database, lane)).toEqual(Array(5).fill("cancelled"));
    expect(await database.query("select from job where lane_id = $1", [lane.laneId])).toEqual([]);
  });

  test("is off before its deliveries are cancelled: nobody waits for it meanwhile", async ({ database, engine }) => {
    const lane = await putWebhook(database);
    const other = await putWebhook(database);
    const [delivery] = await putDeliveries(engine, database, lane, 1);
    const settling = hold(engine, sql`select from webhook_delivery where id = ${delivery} for update`);
    await settling.held;
    const off = switchOff(engine, lane);
    await until(() => isAnyLockAwaited(database), "the change to wait for the delivery");
    for (const one of [lane, other]) await putEvent(database, one);
    await makeDeliveries(engine);
    expect(await statesOf(database, other)).toEqual(["pending"]);
    await settling.release();
    await off;
    expect(await statesOf(database, lane)).toEqual(["cancelled"]);
  });

  test("has all its deliveries cancelled, also if its node stops after some of them", async ({ database, engine }) => {
    const lane = await putWebhook(database);
    await putDeliveries(engine, database, lane, 5);
    await markOff(database, lane);
    let transactions = 0;
    const stopping: Transactional = {
      query: (statement) => engine.query(statement),
      transaction: (work) => (++transactions > 2 ? Promise.reject(unavailable()) : engine.transaction(work)),
    };
    const aborter = { abortJob: () => {} };
    await expect(endDeliveriesAcrossWorkspaces({ ...passes, db: stopping, aborter }, { chunk: 2, ofPass: 6 })).rejects.toThrow();
    expect(await statesOf(database, lane)).toEqual([...Array(4).fill("cancelled"), "pending"]);
    await endDeliveriesAcrossWorkspaces({ ...passes, db: engine, aborter });
    expect(await statesOf(database, lane)).toEqual(Array(5).fill("cancelled"));
    expect(await database.query("select from webhook where cancelling")).toEqual([]);
  });

  test("is reported when its deliveries cannot be cancelled, and holds up no other: it comes when these have none left", async ({
    database,
    engine,
  }) => {
    const [bad, good] = [await putWebhook(database), await putWebhook(database)];
    for (const lane of [bad, good]) {
      await putDeliveries(engine, database, lane, 5);
      await markOff(database, lane);
    }
    let tries = 0;
    const refusing: Transactional = {
      query: (statement) => engine.query(statement),
      transaction: (work) =>
        engine.transaction((tx) =>
          work({
            query: (statement) => {
              if (!statement.values.includes(bad.laneId)) return tx.query(statement);
              tries += 1;
              throw new Error("Refused.");
            },
          }),
        ),
    };
    const told: string[] = [];
    const ending = { db: refusing, aborter: { abortJob: () => {} }, emit: (event: string) => told.push(event), failed: new Set<LaneId>() };
    const portions = { chunk: 1, ofPass: 2 };
    const results: unknown[] = [];
    for (let pass = 0; pass < 6; pass += 1) results.push(await endDeliveriesAcrossWorkspaces(ending, portions).catch(() => "failed"));
    expect(await statesOf(database, good)).toEqual(Array(5).fill("cancelled"));
    expect(results).toEqual([0, 0, 0, "failed", "failed", "failed"]);
    expect([tries, told]).toEqual([4, Array(4).fill("delivery_cancel_failed")]);
    await endDeliveriesAcrossWorkspaces({ ...ending, db: engine });
    expect(await statesOf(database, bad)).toEqual(Array(5).fill("cancelled"));
  });

  /** Webhooks that were switched off, and a pass over them in which those of `slow` take too long. */
  async function slowWebhooks(database: TestDatabase, engine: Transactional, count: number) {
    const lanes: LaneKey[] = [];
    for (let at = 0; at < count; at += 1) lanes.push(await putWebhook(database));
    for (const [at, lane] of lanes.entries()) {
      await putDeliveries(engine, database, lane, 1);
      await markOff(database, lane);
      await database.query("update webhook set disabled_at = moment() - $2 * interval '1 second' where id = $1", [lane.laneId, count - at]);
    }
    const slow = new Set<LaneId>();
    const tried: LaneId[] = [];
    const db: Transactional = {
      query: (statement) => engine.query(statement),
      transaction: (work) =>
        engine.transaction((tx) =>
          work({
            query: (statement) => {
              const lane = statement.values.find((value): value is LaneId => slow.has(value as LaneId));
              if (lane === undefined) return tx.query(statement);
              tried.push(lane);
              throw Object.assign(unavailable(), { cause: { code: "57014" } });
            },
          }),
        ),
    };
    const ending = { db, aborter: { abortJob: () => {} }, emit: () => {}, failed: new Set<LaneId>() };
    const pass = () => endDeliveriesAcrossWorkspaces(ending).catch(() => "failed");
    return { lanes, slow, tried, pass };
  }

  test("is not held up by others that take too long: a pass ends with the second of these, and the next begins with others", async ({
    database,
    engine,
  }) => {
    const { lanes, slow, tried, pass } = await slowWebhooks(database, engine, 6);
    const ids = lanes.map(({ laneId }) => laneId);
    const good = lanes[5] as LaneKey;
    for (const id of ids.slice(0, 5)) slow.add(id);
    const triedIn = async () => {
      expect(await pass()).toBe("failed");
      return tried.splice(0).map((id) => ids.indexOf(id));
    };
    expect([await triedIn(), await triedIn(), await statesOf(database, good)]).toEqual([[0, 1], [2, 3], ["pending"]]);
    expect([await triedIn(), await statesOf(database, good)]).toEqual([[4, 0], ["cancelled"]]);
    // The next one that is switched off comes before those that failed at any time.
    const [later] = (await slowWebhooks(database, engine, 1)).lanes as [LaneKey];
    expect([await triedIn(), await statesOf(database, later)]).toEqual([[1, 2], ["cancelled"]]);
    slow.clear();
    expect(await pass()).toBeUndefined();
  });

  test("comes after 101 whose deliveries can never be cancelled, and all of these are reported", async ({ database, engine }) => {
    const [bad, good] = await putHopeless(database, "disabled_for = 'request', cancelling = true, disabled_at");
    await putDeliveries(engine, database, good, 1);
    const ending = { db: refusing(engine, bad), aborter: { abortJob: () => {} }, emit: () => {}, failed: new Set<LaneId>() };
    await expect(endDeliveriesAcrossWorkspaces(ending)).rejects.toThrow("Refused.");
    expect(await statesOf(database, good)).toEqual(["pending"]);
    await expect(endDeliveriesAcrossWorkspaces(ending)).rejects.toThrow("Refused.");
    expect(await statesOf(database, good)).toEqual(["cancelled"]);
    expect(ending.failed).toHaveLength(102);
    await endDeliveriesAcrossWorkspaces({ ...ending, db: engine });
  });

  test("is off, and its new secret is returned, also if its deliveries cannot be cancelled at once", async ({ database, engine }) => {
    const lane = await putWebhook(database);
    await putDeliveries(engine, database, lane, 1);
    let transactions = 0;
    const failing: Transactional = {
      query: (statement) => engine.query(statement),
      transaction: (work) => (++transactions > 1 ? Promise.reject(unavailable()) : engine.transaction(work)),
    };
    expect(await switchOff(failing, lane, { rotate_secret: true })).toMatchObject({ secret: expect.stringMatching(/^whsec_/) });
    expect(await statesOf(database, lane)).toEqual(["pending"]);
    await endDeliveriesAcrossWorkspaces({ ...passes, db: engine, aborter: { abortJob: () => {} } });
    expect(await statesOf(database, lane)).toEqual(["cancelled"]);
  });

  test("takes turns with others while their deliveries are cancelled, a portion at a time, and a pass ends before all are", async ({
    database,
    engine,
  }) => {
    const lanes = [await putWebhook(database), await putWebhook(database)];
    for (const lane of lanes) {
      await putDeliveries(engine, database, lane, 5);
      await markOff(database, lane);
    }
    const cancelled = () =>
      Promise.all(lanes.map(async (lane) => (await statesOf(database, lane)).filter((state) => state === "cancelled").length));
    const pass = () => endDeliveriesAcrossWorkspaces({ ...passes, db: engine, aborter: { abortJob: () => {} } }, { chunk: 2, ofPass: 4 });
    expect([await pass(), await cancelled()]).toEqual([0, [2, 2]]);
    expect([await pass(), await cancelled()]).toEqual([0, [4, 4]]);
    expect([await pass(), await cancelled()]).toEqual([undefined, [5, 5]]);
  });

  test("has no job left of the deliveries that are cancelled, also of one that is being claimed at the moment", async ({
    database,
    engine,
  }) => {
    const lane = await putWebhook(database);
    const [delivery] = await putDeliveries(engine, database, lane, 2);
    const leaseId = await putNode(database);
    const aborted: [JobId, number][] = [];
    const commit: Run = (work) => engine.transaction((tx) => work(within(tx)));
    await overlap(
      engine,
      commit,
      (tx) => tx.query(sql`update job set state = 'active', lease_id = ${leaseId} where id = ${delivery}`),
      () => switchOff(engine, lane, {}, (...job) => aborted.push(job)),
    );
    expect(aborted).toEqual([[delivery, leaseId]]);
    expect(await statesOf(database, lane)).toEqual(["cancelled", "cancelled"]);
    expect(await database.query("select from job where lane_id = $1", [lane.laneId])).toEqual([]);
  });

  test("is left to the node that cancels its deliveries", async ({ database, engine }) => {
    const lane = await putWebhook(database);
    await putDeliveries(engine, database, lane, 1);
    await markOff(database, lane);
    const other = hold(engine, sql`select from webhook where id = ${lane.laneId} for no key update`);
    await other.held;
    await endFirstDeliveries({ db: engine, aborter: { abortJob: () => {} } }, lane);
    await endDeliveriesAcrossWorkspaces({ ...passes, db: engine, aborter: { abortJob: () => {} } });
    expect(await statesOf(database, lane)).toEqual(["pending"]);
    await other.release();
  });

  test("keeps a delivery that is requested afterwards, and all that are left once it is on again", async ({ database, engine }) => {
    const lane = await putWebhook(database);
    await putDeliveries(engine, database, lane, 2);
    await markOff(database, lane);
    await database.query("update webhook_delivery set requested = true, created_at = moment() + interval '1 minute' where lane_id = $1", [
      lane.laneId,
    ]);
    const aborter = { abortJob: () => {} };
    await endDeliveriesAcrossWorkspaces({ ...passes, db: engine, aborter });
    expect(await statesOf(database, lane)).toEqual(["pending", "pending"]);
    await database.query("update webhook set disabled_at = null, disabled_for = null, cancelling = false where id = $1", [lane.laneId]);
    await database.query("update webhook_delivery set requested = false where lane_id = $1", [lane.laneId]);
    await endFirstDeliveries({ db: engine, aborter }, lane);
    expect(await statesOf(database, lane)).toEqual(["pending", "pending"]);
  });

  test("gets no deliveries of events that a node takes before the change is committed", async ({ database, engine }) => {
    const lane = await putWebhook(database);
    await putEvent(database, lane);
    const commit: Run = (work) => engine.transaction((tx) => work(within(tx)));
    await overlap(
      engine,
      commit,
      (tx) => switchOff(tx, lane),
      () => makeDeliveries(engine),
    );
    expect(await statesOf(database, lane)).toEqual([]);
  });

  test("and an attempt that is settled in between do not wait for each other in a circle", async ({ database, engine }) => {
    const lane = await putWebhook(database);
    const deliveries = await putDeliveries(engine, database, lane, 1);
    let off: Promise<unknown> | undefined;
    await engine.transaction((tx) =>
      settleFailed(
        {
          query: async (statement) => {
            const result = await tx.query(statement);
            if (off === undefined) {
              off = switchOff(engine, lane);
              await until(() => isAnyLockAwaited(database), "the change to wait for the settle");
            }
            return result;
          },
        },
        lane,
        deliveries,
      ),
    );
    await off;
    expect(await statesOf(database, lane)).toEqual(["cancelled"]);
  });

  test("and attempts of several deliveries that are settled do not either, in whatever order these ended", async ({ database, engine }) => {
    const lane = await putWebhook(database);
    const deliveries = await putDeliveries(engine, database, lane, 2);
    // Its health is known: a settle has nothing to write there.
    await database.query("update webhook set failing_since = moment() where id = $1", [lane.laneId]);
    const first = hold(engine, sql`select from webhook_delivery where id = ${deliveries[0]} for update`);
    await first.held;
    const off = switchOff(engine, lane);
    await until(() => isAnyLockAwaited(database), "the change to wait for the first delivery");
    const settled = engine.transaction(async (tx) => settleFailed(tx, lane, deliveries.toReversed()));
    await until(
      async () =>
        (await database.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")).length > 1,
      "the settle to wait, too",
    );
    await first.release();
    await Promise.all([off, settled]);
    expect(await statesOf(database, lane)).toEqual(["cancelled", "cancelled"]);
  });
});

test("a delivery whose three days have ended fails with its job, not while a node begins to send it", async ({ database, engine }) => {
  const lane = await putWebhook(database);
  const [delivery] = await putDeliveries(engine, database, lane, 1);
  await database.query("update webhook_delivery set created_at = moment() - interval '4 days' where id = $1", [delivery]);
  const claim = hold(engine, sql`update job set priority = 1 where lane_id = ${lane.laneId}`);
  await claim.held;
  await endOverdueAcrossWorkspaces(engine);
  expect(await statesOf(database, lane)).toEqual(["pending"]);
  await claim.release();
  await endOverdueAcrossWorkspaces(engine);
  expect(await statesOf(database, lane)).toEqual(["failed"]);
  expect(await database.query("select from job where lane_id = $1", [lane.laneId])).toEqual([]);
});

test("the deliveries of a deleted webhook are swept before its row, which may have millions of them", async ({ database, engine }) => {
  const lane = await putWebhook(database);
  await putDeliveries(engine, database, lane, 3);
  await database.query("update lane set deleted_at = moment() where id = $1", [lane.laneId]);
  await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
  expect(await statesOf(database, lane)).toEqual([]);
  expect(await database.query("select from webhook where id = $1", [lane.laneId])).toHaveLength(1);
});
