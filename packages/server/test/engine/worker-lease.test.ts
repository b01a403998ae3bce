import { describe, expect } from "vitest";
import { type JobKind, JobKinds, recordCallsAcrossWorkspaces, releaseAll, Settler } from "#engine";
import { explainJob } from "#explain";
import {
  type Claim,
  claimAcrossWorkspaces,
  claimForWorkersAcrossWorkspaces,
  claimFromBacklogAcrossWorkspaces,
  extendClaims,
  type WorkerClaim,
} from "#jobs";
import { type Database, type JobId, type Statement, sql, type Transactional, toMoment, unavailable } from "#kernel";
import type { LaneKey } from "#lanes";
import type { TestDatabase } from "../harness/database.ts";
import { test as base, putCircuit, putLane, putNode } from "../harness/engine.ts";
import { putJobs, stateOf } from "../harness/jobs.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { hold } from "../harness/locks.ts";
import { register } from "../harness/node-leases.ts";
import { rescue } from "../harness/rescue.ts";

const test = base.extend("lane", async ({ database }): Promise<LaneKey> => {
  const lane = await putLane(database);
  await serve(database, lane, "pull");
  return lane;
});

const serve = (database: TestDatabase, { laneId }: LaneKey, served: "push" | "pull"): Promise<unknown> =>
  database.query("update lane set served = $2::lane_service where id = $1", [laneId, served]);

const FAILED = { code: "WORKER_FAILED", message: "No.", status: null } as const;

/** How many workers each workspace has. */
const workers = new Map<string, number>();

const openLease = async (engine: Database, { workspaceId }: LaneKey): Promise<number> => {
  const number = (workers.get(workspaceId) ?? 0) + 1;
  workers.set(workspaceId, number);
  const call = { workspaceId, name: `mailer-${number}`, version: null, queues: [], workflows: [], seenAt: toMoment(0) };
  const [opened] = await recordCallsAcrossWorkspaces(engine, [call]);
  return opened?.leaseId as number;
};

const putPayloads = (database: TestDatabase, { laneId }: LaneKey, length: number): Promise<unknown> =>
  database.query("update job set payload = to_json(repeat('x', $2 - 2))::text where lane_id = $1", [laneId, length]);

const expire = (database: TestDatabase, leaseId: number): Promise<unknown> =>
  database.query("update job set lease_until = moment() - interval '1 second' where lease_id = $1", [leaseId]);

async function claim(
  engine: Database,
  lane: LaneKey,
  leaseId: number,
  { take = 10, served = "pull" as "push" | "pull", limited = false } = {},
): Promise<Claim[]> {
  if (served === "push") return (await claimAcrossWorkspaces(engine, { leaseId, served }, [{ ...lane, take }], limited)).claims;
  const node = (await register(engine, 30))?.id as number;
  const holder = { ...lane, take, leaseId, leaseSeconds: 30, request: null, version: null };
  return (await claimForWorkersAcrossWorkspaces(engine, node, [holder], limited)).claims;
}

const logOf = async (database: TestDatabase, id: string): Promise<Record<string, unknown>[]> => {
  const [row] = await database.query<{ log: string }>("select attempts_log as log from job_record where id = $1", [id]);
  return JSON.parse(`[${row?.log}]`);
};

describe("a worker's lease", () => {
  test("an extend does not wait for a job that is locked: it reports it as held, and extends the others", async ({
    database,
    engine,
    lane,
  }) => {
    await putJobs(database, lane, { state: "waiting", count: 2 });
    const claims = await claim(engine, lane, await openLease(engine, lane));
    const until = async () =>
      (await database.query<{ at: string }>("select lease_until::text as at from job order by id")).map(({ at }) => at);
    const [before] = await until();
    const [first] = claims.toSorted((one, other) => (one.id < other.id ? -1 : 1));
    const lock = hold(engine, sql`select from job where id = ${first?.id} for update`);
    await lock.held;
    expect(await extendClaims(engine, lane.workspaceId, claims, 600)).toHaveLength(2);
    await lock.release();
    const [locked, extended] = await until();
    expect([locked, extended === before]).toEqual([before, false]);
  });

  test("a worker's lease claims from lanes that workers serve, and a node's from those that nodes serve", async ({
    database,
    engine,
    lane,
  }) => {
    await putJobs(database, lane, { state: "waiting", count: 2 });
    const [worker, node] = [await openLease(engine, lane), await putNode(database)];
    expect(await claim(engine, lane, node, { served: "push" })).toEqual([]);
    expect(await claim(engine, lane, worker, { take: 1 })).toMatchObject([{ leaseId: worker, attempt: 1 }]);
    await serve(database, lane, "push");
    expect(await claim(engine, lane, worker)).toEqual([]);
    expect(await claim(engine, lane, node, { served: "push" })).toMatchObject([{ leaseId: node }]);
  });

  test("a node whose lease has run out claims nothing for workers", async ({ database, engine, lane }) => {
    await putJobs(database, lane, { state: "waiting" });
    const holder = { ...lane, take: 1, leaseId: await openLease(engine, lane), leaseSeconds: 30, request: null, version: null };
    const node = await putNode(database);
    await database.query("update lease set expires_at = now() - interval '1 second' where id = $1", [node]);
    expect((await claimForWorkersAcrossWorkspaces(engine, node, [holder], false)).claims).toEqual([]);
  });

  test("jobs of a lane are divided among the workers that ask for it", async ({ database, engine, lane }) => {
    const ids = await putJobs(database, lane, { state: "waiting", count: 5 });
    const [one, two] = [await openLease(engine, lane), await openLease(engine, lane)];
    const holderOf = (leaseId: number, take: number) => ({ ...lane, take, leaseId, leaseSeconds: 30, request: null, version: null });
    const { claims } = await claimForWorkersAcrossWorkspaces(engine, await putNode(database), [holderOf(one, 2), holderOf(two, 10)], false);
    expect(claims.filter(({ leaseId }) => leaseId === one).map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(claims.filter(({ leaseId }) => leaseId === two).map(({ id }) => id)).toEqual(ids.slice(2));
  });

  test.for([false, true])(
    "a claim for workers is bounded by the bytes of its payloads (lane with limits: %s)",
    async (limited, { database, engine, lane }) => {
      if (limited) await database.query("update lane set concurrency = 100 where id = $1", [lane.laneId]);
      await putJobs(database, lane, { state: "waiting", count: 9 });
      await putPayloads(database, lane, 1_500_000);
      const holder = { ...lane, take: 9, leaseId: await openLease(engine, lane), leaseSeconds: 30, request: null, version: null };
      const node = await putNode(database);
      const brought = [];
      for (let claims = 0; claims < 4; claims += 1) {
        const { claims, found } = await claimForWorkersAcrossWorkspaces(engine, node, [holder], limited);
        brought.push([claims.length, found.find(({ laneId }) => laneId === lane.laneId)?.opensInMs ?? null]);
      }
      expect(brought).toEqual([
        [3, 0],
        [3, 0],
        [3, null],
        [0, null],
      ]);
    },
  );

  test("workspaces share the bytes of a claim for workers: large payloads of one leave the small ones of another", async ({
    database,
    engine,
    lane,
  }) => {
    const other = await putLane(database);
    await serve(database, other, "pull");
    for (const one of [lane, other]) await putJobs(database, one, { state: "waiting", count: 20 });
    await putPayloads(database, lane, 1_000_000);
    await putPayloads(database, other, 10_000);
    const holders = [];
    for (const one of [lane, other])
      holders.push({ ...one, take: 20, leaseId: await openLease(engine, one), leaseSeconds: 30, request: null, version: null });
    const { claims } = await claimForWorkersAcrossWorkspaces(engine, await putNode(database), holders, false);
    const claimedOf = ({ laneId }: LaneKey) => claims.filter((claim) => claim.laneId === laneId).length;
    expect([claimedOf(lane), claimedOf(other)]).toEqual([4, 20]);
  });

  test("a claim from a backlog brings what a claim for workers would", async ({ database, engine, lane }) => {
    await putJobs(database, lane, { state: "waiting", count: 8 });
    const [node, one, two] = [await putNode(database), await openLease(engine, lane), await openLease(engine, lane)];
    const holderOf = (leaseId: number, take: number) => ({
      ...lane,
      take,
      leaseId,
      leaseSeconds: 30,
      request: `of-${leaseId}`,
      version: null,
    });
    const holders = [holderOf(one, 1), holderOf(two, 3)];
    const shown = (claims: readonly WorkerClaim[]) => claims.map(({ id: _, ...claim }) => ({ ...claim, startedAt: "", leaseUntil: "" }));
    const { claims: general } = await claimForWorkersAcrossWorkspaces(engine, node, holders, false);
    const fromBacklog = await claimFromBacklogAcrossWorkspaces(engine, node, holders);
    // The general claim has what it found of lanes in a column besides.
    expect(shown(general)).toEqual(shown(fromBacklog).map((claim) => ({ ...claim, found: null })));
    expect(fromBacklog.map(({ leaseId, place, attempt }) => [leaseId, place, attempt])).toEqual([
      [one, 1, 1],
      [two, 2, 1],
      [two, 3, 1],
      [two, 4, 1],
    ]);
    const [{ ends } = { ends: null }] = await database.query<{ ends: number }>(
      "select extract(epoch from min(lease_until - started_at))::int as ends from job",
    );
    expect(ends).toBe(30);
  });

  test("a claim from a backlog goes in the order of priorities, passes over locked jobs, and is bounded by the bytes of payloads", async ({
    database,
    engine,
    lane,
  }) => {
    const ids = await putJobs(database, lane, { state: "waiting", count: 7 });
    await putPayloads(database, lane, 1_500_000);
    await database.query("update job set priority = 5 where id = $1", [ids[6]]);
    const lock = hold(engine, sql`select from job where id = ${ids[0]} for update`);
    await lock.held;
    const [node, leaseId] = [await putNode(database), await openLease(engine, lane)];
    const take = async () => {
      const holder = { ...lane, take: 9, leaseId, leaseSeconds: 30, request: null, version: null };
      return (await claimFromBacklogAcrossWorkspaces(engine, node, [holder])).map(({ id }) => ids.indexOf(id));
    };
    expect([await take(), await take(), await take()]).toEqual([[6, 1, 2], [3, 4, 5], []]);
    await lock.release();
    expect(await take()).toEqual([0]);
  });

  const notSimple: Record<string, (database: TestDatabase, lane: LaneKey, node: number) => Promise<unknown>> = {
    "has a limit": (database, { laneId }) => database.query("update lane set concurrency = 100 where id = $1", [laneId]),
    "has a rate limit": (database, { laneId }) =>
      database.query("update lane set rate_max = 100, rate_seconds = 60 where id = $1", [laneId]),
    "is paused": (database, { laneId }) => database.query("update lane set paused = true where id = $1", [laneId]),
    "is served by nodes": (database, lane) => serve(database, lane, "push"),
    "is deleted": (database, { laneId }) => database.query("update lane set deleted_at = moment() where id = $1", [laneId]),
    "has an open circuit": (database, lane) => putCircuit(database, lane),
    "is asked by a node without a lease": (database, _lane, node) =>
      database.query("update lease set expires_at = now() - interval '1 second' where id = $1", [node]),
  };
  test.for(Object.entries(notSimple))(
    "a claim from a backlog brings nothing if the lane %s",
    async ([, change], { database, engine, lane }) => {
      await putJobs(database, lane, { state: "waiting", count: 2 });
      const [node, leaseId] = [await putNode(database), await openLease(engine, lane)];
      const holder = { ...lane, take: 1, leaseId, leaseSeconds: 30, request: null, version: null };
      expect(await claimFromBacklogAcrossWorkspaces(engine, node, [holder])).toHaveLength(1);
      await change(database, lane, node);
      expect(await claimFromBacklogAcrossWorkspaces(engine, node, [holder])).toEqual([]);
    },
  );

  test("a worker's lease counts against the lane's concurrency together with the nodes' leases", async ({ database, engine, lane }) => {
    await database.query("update lane set concurrency = 3 where id = $1", [lane.laneId]);
    const ids = await putJobs(database, lane, { state: "waiting", count: 6 });
    const [one, two] = [await openLease(engine, lane), await openLease(engine, lane)];
    expect(await claim(engine, lane, one, { take: 1, limited: true })).toHaveLength(1);
    expect(await claim(engine, lane, two, { take: 1, limited: true })).toHaveLength(1);
    await serve(database, lane, "push");
    expect(await claim(engine, lane, await putNode(database), { served: "push", limited: true })).toHaveLength(1);
    expect(await claim(engine, lane, await putNode(database), { served: "push", limited: true })).toEqual([]);
    const explained = await explainJob(engine, { ...lane, id: ids[5] as never }, "emails");
    expect(explained.held_by).toEqual(["queue_concurrency"]);
    expect(explained.gates.find(({ gate }) => gate === "queue_concurrency")?.figures).toMatchObject({ limit: 3, in_flight: 3, free: 0 });
  });

  test("a worker's lease holds the slot of a concurrency key until it settles", async ({ database, engine, lane }) => {
    const ids = await putJobs(database, lane, { state: "waiting", count: 2 });
    await database.query("update job set concurrency_key = 'ada', key_slot = case when id = $2 then 1 end where lane_id = $1", [
      lane.laneId,
      ids[0],
    ]);
    const worker = await openLease(engine, lane);
    const [held] = await claim(engine, lane, worker);
    expect(held?.id).toBe(ids[0]);
    expect(await claim(engine, lane, worker)).toEqual([]);
    await new Settler(engine, new JobKinds([]), () => {}, lockWaits()).add(
      held as Claim,
      { kind: "complete", status: 200, result: null },
      { tookMs: 1, worker: "mailer-1" },
    );
    expect(await logOf(database, held?.id as string)).toMatchObject([{ outcome: "completed", worker: "mailer-1" }]);
    expect((await claim(engine, lane, worker)).map(({ id }) => id)).toEqual([ids[1]]);
  });

  test("a worker's lease is not counted for another workspace's lanes", async ({ database, engine, lane }) => {
    const other = await putLane(database);
    await serve(database, other, "pull");
    await database.query("update lane set concurrency = 1 where id = $1", [other.laneId]);
    for (const one of [lane, other]) await putJobs(database, one, { state: "waiting" });
    expect(await claim(engine, lane, await openLease(engine, lane))).toHaveLength(1);
    expect(await claim(engine, other, await openLease(engine, other), { limited: true })).toHaveLength(1);
  });
});

describe("a worker's lease that runs out", () => {
  test("a worker's lease that runs out uses an attempt of its jobs, which wait for their backoff", async ({ database, engine, lane }) => {
    const [id] = await putJobs(database, lane, { state: "waiting" });
    const worker = await openLease(engine, lane);
    await claim(engine, lane, worker);
    await expire(database, worker);
    expect(await rescue(engine)).toContainEqual(expect.objectContaining(lane));
    const [job] = await database.query(
      "select state, attempt, spared, node_losses, error_code, run_at > moment() as later from job where id = $1",
      [id],
    );
    expect(job).toEqual({ state: "delayed", attempt: 1, spared: 0, node_losses: 0, error_code: "LEASE_EXPIRED", later: true });
    expect(await logOf(database, id as string)).toMatchObject([
      { attempt: 1, outcome: "failed", worker: "mailer-1", error: { code: "LEASE_EXPIRED" } },
    ]);
  });

  test("a worker's lease that runs out sends a job to the dead-letter queue with its last attempt; a lost node's job waits again instead", async ({
    database,
    engine,
    lane,
  }) => {
    const [pulled] = await putJobs(database, lane, { state: "waiting" });
    await database.query("update job set attempts = 1 where id = $1", [pulled]);
    const worker = await openLease(engine, lane);
    await claim(engine, lane, worker);
    await expire(database, worker);
    const pushed = await putLane(database);
    const node = await putNode(database, { alive: false });
    const [held] = await putJobs(database, pushed, { state: "active", leaseId: node });
    await database.query("update job set attempts = 1 where id = $1", [held]);
    await rescue(engine);
    expect([await stateOf(database, pulled as never), await stateOf(database, held as never)]).toEqual(["failed", "waiting"]);
    const [spared] = await database.query("select attempt, spared from job where id = $1", [held]);
    expect(spared).toEqual({ attempt: 1, spared: 1 });
  });

  test("a worker's lease that runs out loses what it settles after its jobs were taken back", async ({ database, engine, lane }) => {
    const [id] = await putJobs(database, lane, { state: "waiting" });
    const worker = await openLease(engine, lane);
    const [held] = await claim(engine, lane, worker);
    await expire(database, worker);
    await rescue(engine);
    const lost: unknown[] = [];
    const settler = new Settler(engine, new JobKinds([]), (event, fields) => void lost.push([event, fields]), lockWaits());
    await settler.add(held as Claim, { kind: "complete", status: 200, result: null }, { tookMs: 1, worker: "mailer-1" });
    expect(lost).toEqual([["settle_lost_race", { count: 1 }]]);
    expect(await stateOf(database, id as never)).toBe("delayed");
  });

  test.for([
    { verdict: { kind: "complete", status: 200, result: null }, state: "completed" },
    { verdict: { kind: "retry", waitMs: 1_000, error: FAILED }, state: "delayed" },
    { verdict: { kind: "fail", error: FAILED }, state: "failed" },
  ] as const)(
    "an outcome that was committed before the connection broke is not lost: $state",
    async ({ verdict, state }, { database, engine, lane }) => {
      const [id] = await putJobs(database, lane, { state: "waiting" });
      const [held] = await claim(engine, lane, await openLease(engine, lane));
      let breaks = 1;
      const query = async (statement: Statement) => {
        const result = await engine.query(statement);
        if (breaks-- > 0) throw unavailable("The connection broke.");
        return result;
      };
      const told: string[] = [];
      const breaking = { query, transaction: engine.transaction.bind(engine) } as Transactional;
      const settler = new Settler(breaking, new JobKinds([]), (event) => void told.push(event), lockWaits());
      expect(await settler.add(held as Claim, verdict, { tookMs: 1, worker: "mailer-1" })).toBe(true);
      expect(told).toEqual(["settle_retried"]);
      expect(await stateOf(database, id as never)).toBe(state);
      expect(await logOf(database, id as string)).toHaveLength(1);
    },
  );

  test("a worker's lease that runs out is extended as long as nobody has found it, and not while its job is taken back", async ({
    database,
    engine,
    lane,
  }) => {
    await putJobs(database, lane, { state: "waiting", count: 2 });
    const leaseId = await openLease(engine, lane);
    const claims = await claim(engine, lane, leaseId);
    await expire(database, leaseId);
    const extend = async (one?: Claim) => (await extendClaims(engine, lane.workspaceId, one ? [one] : [], 600)).length;
    expect(await extend(claims[0])).toBe(1);
    let late: number | undefined;
    const query = async (statement: Statement) => {
      const result = await engine.query(statement);
      if (statement.text.includes("lease_until <= moment()")) late = await extend(claims[1]);
      return result;
    };
    await rescue({ query, transaction: (work) => engine.transaction(work) } as Database);
    expect(late).toBe(0);
    const states = await database.query<{ id: string; state: string; code: string | null }>(
      "select id, state, error_code as code from job where lane_id = $1",
      [lane.laneId],
    );
    expect(Object.fromEntries(states.map(({ id, state, code }) => [id, [state, code]]))).toEqual({
      [claims[0]?.id as string]: ["active", null],
      [claims[1]?.id as string]: ["delayed", "LEASE_EXPIRED"],
    });
  });

  test("a worker's lease that runs out is not extended while another statement ends it", async ({ database, engine, lane }) => {
    await putJobs(database, lane, { state: "waiting", count: 1 });
    const leaseId = await openLease(engine, lane);
    const claims = await claim(engine, lane, leaseId);
    await expire(database, leaseId);
    const ending = hold(engine, sql`update job set lease_until = 'epoch' where lease_id = ${leaseId} returning id`);
    await ending.held;
    expect(await extendClaims(engine, lane.workspaceId, claims, 600)).toEqual([]);
    await ending.release();
    expect(await extendClaims(engine, lane.workspaceId, claims, 600)).toEqual([]);
  });

  test("a worker's lease that runs out while a job of it is locked does not keep the pass from ending", async ({
    database,
    engine,
    lane,
  }) => {
    const [id] = await putJobs(database, lane, { state: "waiting", count: 1 });
    const leaseId = await openLease(engine, lane);
    await claim(engine, lane, leaseId);
    await database.query("update job set lease_until = 'epoch' where id = $1", [id]);
    const locking = hold(engine, sql`select id from job where id = ${id as string}::uuid for update`);
    await locking.held;
    await rescue(engine);
    expect(await stateOf(database, id as JobId)).toBe("active");
    await locking.release();
    await rescue(engine);
    expect(await stateOf(database, id as JobId)).toBe("delayed");
  });

  test("a worker's lease that runs out is settled once, whichever of many nodes finds it", async ({ database, engine, lane }) => {
    const ids = await putJobs(database, lane, { state: "waiting", count: 20 });
    const worker = await openLease(engine, lane);
    await claim(engine, lane, worker, { take: 20 });
    await expire(database, worker);
    await Promise.all([1, 2, 3, 4].map(() => rescue(engine)));
    const found = await database.query("select attempt, spared, state from job where id = any($1::uuid[])", [ids]);
    expect(found).toEqual(ids.map(() => ({ attempt: 1, spared: 0, state: "delayed" })));
    for (const id of ids) expect(await logOf(database, id)).toHaveLength(1);
  });
});

test("a node that stops releases what it holds, but what workers hold and hooks that may have begun", async ({
  database,
  engine,
  lane,
}) => {
  const [pulled] = await putJobs(database, lane, { state: "waiting" });
  await claim(engine, lane, await openLease(engine, lane));
  const pushed = await putLane(database);
  const node = await putNode(database);
  const [held] = await putJobs(database, pushed, { state: "active", leaseId: node });
  const [hook] = await putJobs(database, pushed, { state: "active", leaseId: node });
  await database.query("update job set kind = 'hook' where id = $1", [hook]);
  const woken: LaneKey[] = [];
  const waker = { wake: (lanes: readonly LaneKey[]) => void woken.push(...lanes), wakeAt: () => {} };
  const kinds = new JobKinds([{ name: "hook", once: true } as JobKind]);
  await releaseAll({ db: engine, emit: () => {}, kinds, clock: { elapsedMs: () => 0 }, waker }, node);
  const states = await Promise.all([pulled, held, hook].map((id) => stateOf(database, id as never)));
  expect(states).toEqual(["active", "waiting", "active"]);
  expect(woken).toEqual([pushed]);
});
