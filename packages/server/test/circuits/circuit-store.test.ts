import { describe, expect } from "vitest";
import { closeCircuit, type Opening } from "#circuits";
import { claimAcrossWorkspaces, findLanesWithWorkAcrossWorkspaces, settleNotCompletedAcrossWorkspaces } from "#jobs";
import type { Database } from "#kernel";
import type { LaneKey } from "#lanes";
import type { TestDatabase } from "../harness/database.ts";
import { claimed } from "../harness/dispatcher-fixture.ts";
import { putCircuit, putLane, putNode, test } from "../harness/engine.ts";
import { putJobs, stateOf } from "../harness/jobs.ts";
import { until } from "../harness/service.ts";

const ERROR = '{"code":"TIMEOUT","message":"Too slow.","status":null}';
const opening = (lane: LaneKey, revision = 1): Opening => ({ ...lane, revision, probeInMs: 1_000, error: ERROR });
const waitsForLock = async (database: TestDatabase): Promise<boolean> =>
  (await database.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")).length > 0;
const open = async (engine: Database, ...openings: Opening[]) => (await settleNotCompletedAcrossWorkspaces(engine, [], openings)).opened;

describe("a circuit opens", () => {
  test("a circuit opens once, however many say so", async ({ database, engine }) => {
    const [one, two] = [await putLane(database), await putLane(database)];
    const opened = await open(engine, opening(one), opening(two), opening(one));
    expect(opened.toSorted((a, b) => a.laneId - b.laneId)).toEqual([one, two]);
    expect(await open(engine, opening(one))).toEqual([]);
  });

  test("a circuit does not open when its queue was changed or deleted since", async ({ database, engine }) => {
    const lane = await putLane(database);
    await database.query("update lane set revision = 2 where id = $1", [lane.laneId]);
    expect(await open(engine, opening(lane))).toEqual([]);
    await database.query("update lane set deleted_at = moment() where id = $1", [lane.laneId]);
    expect(await open(engine, opening(lane, 2))).toEqual([]);
  });

  test("a circuit does not open when its queue is being changed: it waits for the change", async ({ database, engine }) => {
    const lane = await putLane(database);
    const held = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const change = engine.transaction(async (tx) => {
      await tx.query({ name: "change-queue", text: "update lane set revision = 2 where id = $1", values: [lane.laneId] });
      locked.resolve();
      await held.promise;
    });
    await locked.promise;
    let answered = false;
    const opened = open(engine, opening(lane)).finally(() => {
      answered = true;
    });
    await until(async () => answered || (await waitsForLock(database)), "the opening to wait");
    held.resolve();
    await change;
    expect(await opened).toEqual([]);
  });
});

describe("a circuit closes", () => {
  test("a circuit closes for an answer under the settings that it opened under, or later ones, and not for an older one", async ({
    database,
    engine,
  }) => {
    const lane = await putLane(database);
    await putCircuit(database, lane, { revision: 2 });
    expect(await closeCircuit(engine, { ...claimed(1), ...lane, revision: 1 })).toBeNull();
    expect(await closeCircuit(engine, { ...claimed(1), ...lane, revision: 3 })).toMatchObject({ probes: 0 });
    expect(await closeCircuit(engine, { ...claimed(1), ...lane, revision: 3 })).toBeNull();
  });
});

describe("a claim from a lane whose circuit is open", () => {
  test("a claim from a lane whose circuit is open brings nothing before the probe is due, and looking for work leaves the lane out", async ({
    database,
    engine,
  }) => {
    const lane = await putLane(database);
    await putCircuit(database, lane, { inSeconds: 1 });
    await putJobs(database, lane, { state: "waiting", count: 5 });
    expect((await findLanesWithWorkAcrossWorkspaces(engine)).lanes).not.toContainEqual(lane);
    expect(await claimAcrossWorkspaces(engine, { leaseId: await putNode(database), served: "push" }, [{ ...lane, take: 5 }])).toEqual({
      claims: [],
      found: [],
    });
  });

  test("a claim from a lane whose circuit is open brings one job as a probe, to one of many nodes that ask at once, beside all of other lanes", async ({
    database,
    engine,
  }) => {
    for (let round = 0; round < 10; round += 1) {
      const [lane, other] = [await putLane(database), await putLane(database)];
      await putCircuit(database, lane);
      for (const one of [lane, other]) await putJobs(database, one, { state: "waiting", count: 8 });
      const nodes = await Promise.all([1, 2, 3, 4].map(() => putNode(database)));
      const ask = (leaseId: number) =>
        claimAcrossWorkspaces(engine, { leaseId, served: "push" }, [
          { ...lane, take: 8 },
          { ...other, take: 2 },
        ]);
      const claims = (await Promise.all(nodes.map(ask))).flatMap((answer) => answer.claims);
      expect(claims.filter(({ laneId }) => laneId === lane.laneId)).toMatchObject([{ probe: { failed: 0 } }]);
      expect(claims.filter(({ laneId }) => laneId === other.laneId).map(({ probe }) => probe)).toEqual(
        Array.from({ length: 8 }, () => null),
      );
    }
  });

  test("a claim from a lane whose circuit is open leaves the probe to others when it finds no job", async ({ database, engine }) => {
    const lane = await putLane(database);
    await putCircuit(database, lane);
    const [first, second] = [await putNode(database), await putNode(database)];
    expect(await claimAcrossWorkspaces(engine, { leaseId: first, served: "push" }, [{ ...lane, take: 5 }])).toEqual({
      claims: [],
      found: [],
    });
    await putJobs(database, lane, { state: "waiting" });
    expect((await claimAcrossWorkspaces(engine, { leaseId: second, served: "push" }, [{ ...lane, take: 5 }])).claims).toHaveLength(1);
  });
});

test("an attempt whose endpoint did not answer counts, unless the circuit is open by the time that it is written", async ({
  database,
  engine,
}) => {
  const [shut, tripped] = [await putLane(database), await putLane(database)];
  const leaseId = await putNode(database);
  await putCircuit(database, tripped);
  const refusals = [];
  for (const lane of [shut, tripped]) {
    const [id] = await putJobs(database, lane, { state: "active", leaseId });
    if (!id) throw new Error("No job was put.");
    const fate = { to: "failed", waitMs: 0, aloneWaitMs: null, error: ERROR, errorCode: "TIMEOUT", recorded: true, spared: null } as const;
    refusals.push({ ...lane, id, leaseId, attempt: 1, logEntry: "{}", ...fate });
  }
  await settleNotCompletedAcrossWorkspaces(engine, refusals);
  expect(await Promise.all(refusals.map(({ id }) => stateOf(database, id)))).toEqual(["failed", "waiting"]);
});
