import { describe, expect } from "vitest";
import { JobKinds, Settler } from "#engine";
import { claimAcrossWorkspaces } from "#jobs";
import type { Database, JobId } from "#kernel";
import type { LaneKey } from "#lanes";
import type { TestDatabase } from "../harness/database.ts";
import { EchoKind, enqueueEchoes, startEngine } from "../harness/echo-kind.ts";
import { test as base, putLane, putNode } from "../harness/engine.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { rescue } from "../harness/rescue.ts";
import { until } from "../harness/service.ts";

const test = base
  .extend("prepared", { scope: "file" }, ({ database }) => EchoKind.prepare(database))
  .extend("kind", ({ prepared: _ }) => new EchoKind())
  .extend("lane", async ({ database }): Promise<LaneKey> => putLane(database));

const rowsOf = (database: TestDatabase, ids: readonly JobId[]) =>
  database.query<{ attempt: number; verdict: string }>(
    "select attempt, verdict from echo where job_id = any($1::uuid[]) order by attempt, verdict",
    [ids],
  );

const left = async (database: TestDatabase, { laneId }: LaneKey) => {
  const [counts] = await database.query<Record<string, number>>(
    `select (select count(*)::int from job where lane_id = $1) as live, (select count(*)::int from job_history where lane_id = $1) as finished,
       (select count(*)::int from tally where lane_id = $1) as tallied, (select count(*)::int from usage_delta where lane_id = $1) as used`,
    [laneId],
  );
  return counts;
};

const NOTHING = { live: 0, finished: 0, tallied: 0, used: 0 };

async function claimFor(engine: Database, lane: LaneKey, leaseId: number, take = 10) {
  const { claims } = await claimAcrossWorkspaces(engine, { leaseId, served: "push" }, [{ ...lane, take }], false);
  return claims;
}

describe("jobs of a kind of their own", () => {
  test("jobs of a kind of their own are delivered by it, and each outcome writes a row; nothing else of them is left", async ({
    database,
    engine,
    clock,
    kind,
    lane,
    onTestFinished,
  }) => {
    const node = await startEngine(database, clock, [kind]);
    onTestFinished(() => node.stop());
    const ids = await enqueueEchoes(engine, clock, lane, 20);
    node.waker.wake([lane]);
    await until(async () => (await rowsOf(database, ids)).length === 20, "all rows");
    expect(kind.started.toSorted()).toEqual(ids.toSorted());
    expect(new Set((await rowsOf(database, ids)).map(({ verdict }) => verdict))).toEqual(new Set(["complete"]));
    expect(await left(database, lane)).toEqual(NOTHING);
  });

  test("jobs of a kind of their own are retried with backoff, and fail for good without a place in the dead-letter queue", async ({
    database,
    engine,
    clock,
    kind,
    lane,
    onTestFinished,
  }) => {
    kind.answer = () => ({ kind: "unreachable", code: "TIMEOUT", message: "Too slow." });
    const node = await startEngine(database, clock, [kind]);
    onTestFinished(() => node.stop());
    const ids = await enqueueEchoes(engine, clock, lane, 1, 2);
    node.waker.wake([lane]);
    await until(async () => (await rowsOf(database, ids)).length === 1, "the first row");
    await clock.advance(60);
    for (const { loop } of node.due) loop.wakeUnlessFailed();
    await until(async () => (await rowsOf(database, ids)).length === 2, "the second row");
    expect(await rowsOf(database, ids)).toEqual([
      { attempt: 1, verdict: "retry" },
      { attempt: 2, verdict: "fail" },
    ]);
    expect(await left(database, lane)).toMatchObject({ live: 0, finished: 0, tallied: 0 });
  });

  test("jobs of a kind of their own are within the limits of their lane", async ({ database, engine, clock, kind, lane }) => {
    await database.query("update lane set concurrency = 2 where id = $1", [lane.laneId]);
    await enqueueEchoes(engine, clock, lane, 5);
    const leaseId = await putNode(database);
    const { claims } = await claimAcrossWorkspaces(engine, { leaseId, served: "push" }, [{ ...lane, take: 5 }], true);
    expect(claims.map((claim) => claim.kind)).toEqual(["echo", "echo"]);
    const settler = new Settler(engine, new JobKinds([kind]), () => {}, lockWaits());
    await settler.add(claims[0] as (typeof claims)[number], { kind: "complete", status: 200, result: null }, { tookMs: 1 });
    const next = await claimAcrossWorkspaces(engine, { leaseId, served: "push" }, [{ ...lane, take: 5 }], true);
    expect(next.claims).toHaveLength(1);
  });

  test("jobs of a kind that a node does not know wait for nodes that do, and use no attempt", async ({
    database,
    engine,
    clock,
    kind,
    lane,
    onTestFinished,
  }) => {
    const older = await startEngine(database, clock, []);
    const [id] = (await enqueueEchoes(engine, clock, lane, 1)) as [JobId];
    older.waker.wake([lane]);
    await until(
      async () => (await database.query("select from job where id = $1 and state = 'delayed'", [id])).length === 1,
      "the postponement",
    );
    await older.stop();
    const newer = await startEngine(database, clock, [kind]);
    onTestFinished(() => newer.stop());
    await clock.advance(60);
    for (const { loop } of newer.due) loop.wakeUnlessFailed();
    await until(async () => (await rowsOf(database, [id])).length === 1, "the row");
    expect(kind.started).toEqual([id]);
  });
});

describe("the row that an outcome writes", () => {
  const COMPLETE = { kind: "complete", status: 200, result: null } as const;

  test("the row that an outcome writes is written with the settle or not at all", async ({ database, engine, clock, kind, lane }) => {
    const ids = await enqueueEchoes(engine, clock, lane, 1);
    const [claim] = await claimFor(engine, lane, await putNode(database));
    if (!claim) throw new Error("Nothing was claimed.");
    let tries = 0;
    kind.beforeRow = () => {
      tries += 1;
      if (tries === 1) throw new Error("It cannot be written now.");
    };
    const settling = new Settler(engine, new JobKinds([kind]), () => {}, lockWaits()).add(claim, COMPLETE, { tookMs: 1 });
    await settling;
    expect(tries).toBe(2);
    expect(await rowsOf(database, ids)).toEqual([{ attempt: 1, verdict: "complete" }]);
    expect(await left(database, lane)).toEqual(NOTHING);
  });

  test("the row that an outcome writes is not written when the claim is no longer true", async ({
    database,
    engine,
    clock,
    kind,
    lane,
  }) => {
    const ids = await enqueueEchoes(engine, clock, lane, 2);
    const claims = await claimFor(engine, lane, await putNode(database));
    await database.query("update job set attempt = attempt + 1, spared = spared + 1 where id = $1", [ids[0]]);
    const settler = new Settler(engine, new JobKinds([kind]), () => {}, lockWaits());
    await Promise.all(claims.map((claim) => settler.add(claim, COMPLETE, { tookMs: 1 })));
    expect(await rowsOf(database, ids)).toHaveLength(1);
    expect(await left(database, lane)).toMatchObject({ live: 1 });
  });

  test("the row that an outcome writes is written too when a job goes down with three nodes in a row", async ({
    database,
    engine,
    clock,
    kind,
    lane,
  }) => {
    const ids = await enqueueEchoes(engine, clock, lane, 1);
    const kinds = new JobKinds([kind]);
    for (let loss = 1; loss <= 3; loss += 1) {
      const leaseId = await putNode(database);
      expect(await claimFor(engine, lane, leaseId)).toHaveLength(1);
      expect(await rowsOf(database, ids)).toEqual([]);
      await database.query("update lease set expires_at = now() - interval '1 second' where id = $1", [leaseId]);
      await rescue(engine, kinds);
    }
    expect(await rowsOf(database, ids)).toEqual([{ attempt: 3, verdict: "fail" }]);
    expect(await left(database, lane)).toMatchObject({ live: 0, tallied: 0 });
  });

  test("the row that an outcome writes is left to nodes that know the kind when a job goes down with three nodes in a row", async ({
    database,
    engine,
    clock,
    kind,
    lane,
  }) => {
    const ids = await enqueueEchoes(engine, clock, lane, 1);
    for (let loss = 1; loss <= 3; loss += 1) {
      const leaseId = await putNode(database);
      expect(await claimFor(engine, lane, leaseId)).toHaveLength(1);
      await database.query("update lease set expires_at = now() - interval '1 second' where id = $1", [leaseId]);
      await rescue(engine);
    }
    expect(await database.query("select state, node_losses from job where id = $1", [ids[0]])).toEqual([
      { state: "active", node_losses: 2 },
    ]);
    await rescue(engine, new JobKinds([kind]));
    expect(await rowsOf(database, ids)).toEqual([{ attempt: 3, verdict: "fail" }]);
  });

  test("the row that an outcome writes takes its job to the dead-letter queue if it can never be written", async ({
    database,
    engine,
    clock,
    kind,
    lane,
  }) => {
    const ids = await enqueueEchoes(engine, clock, lane, 2);
    const claims = await claimFor(engine, lane, await putNode(database));
    kind.beforeRow = ({ claim }) => {
      if (claim.id === ids[0]) throw new Error("It can never be written.");
    };
    const settler = new Settler(engine, new JobKinds([kind]), () => {}, lockWaits());
    await Promise.all(claims.map((claim) => settler.add(claim, COMPLETE, { tookMs: 1 })));
    expect(await rowsOf(database, [ids[0] as JobId])).toEqual([]);
    expect(await rowsOf(database, [ids[1] as JobId])).toHaveLength(1);
    expect(await database.query("select state, lease_id, error_code from job where lane_id = $1", [lane.laneId])).toEqual([
      { state: "failed", lease_id: null, error_code: "NODE_LOST" },
    ]);
  });

  test("the row that an outcome writes may be the last of its job and open the circuit of the lane", async ({
    database,
    engine,
    clock,
    kind,
    lane,
  }) => {
    await enqueueEchoes(engine, clock, lane, 1, 1);
    const [claim] = await claimFor(engine, lane, await putNode(database));
    if (!claim) throw new Error("Nothing was claimed.");
    const error = { code: "TIMEOUT", message: "Too slow.", status: null } as const;
    const circuit = { kind: "opens", probeInMs: 1_000 } as const;
    await new Settler(engine, new JobKinds([kind]), () => {}, lockWaits()).add(claim, { kind: "fail", error }, { tookMs: 1, circuit });
    expect(await left(database, lane)).toMatchObject({ live: 0 });
    expect(await database.query("select 1 as open from circuit where lane_id = $1", [lane.laneId])).toEqual([{ open: 1 }]);
  });
});
