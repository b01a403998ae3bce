import { expect } from "vitest";
import { claimAcrossWorkspaces, MAX_CLAIM_BYTES } from "#jobs";
import type { LaneKey } from "#lanes";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, putNode, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";

const MIB = 1024 * 1024;

/** Jobs with payloads of this length wait in a new lane. */
async function laneOfPayloads(database: TestDatabase, count: number, length: number): Promise<LaneKey> {
  const lane = await putLane(database);
  await putJobs(database, lane, { state: "waiting", count });
  await database.query("update job set payload = to_json(repeat('a', $2 - 2))::text where lane_id = $1", [lane.laneId, length]);
  return lane;
}

test.for([
  ["without limits", null],
  ["with limits", 100],
] as const)(
  "a node's claim from lanes %s brings as many bytes of payloads as it may, and one job of each lane",
  async ([, maximum], { database, engine }) => {
    const large = await laneOfPayloads(database, 12, MIB);
    const alsoLarge = await laneOfPayloads(database, 3, MIB);
    const small = await laneOfPayloads(database, 20, 10);
    await database.query("update lane set concurrency = $1", [maximum]);
    const claimant = { leaseId: await putNode(database), served: "push" } as const;
    const lanes = [large, alsoLarge, small].map((lane) => ({ ...lane, take: 100 }));
    const claim = () => claimAcrossWorkspaces(engine, claimant, lanes, maximum !== null);

    const { claims, found } = await claim();
    const jobsOf = (lane: LaneKey) => claims.filter(({ laneId }) => laneId === lane.laneId).length;
    expect(claims.reduce((bytes, { payload }) => bytes + payload.length, 0)).toBeLessThanOrEqual(MAX_CLAIM_BYTES + lanes.length * MIB);
    expect(jobsOf(large)).toBeGreaterThan(0);
    expect(jobsOf(alsoLarge)).toBeGreaterThan(0);
    expect(jobsOf(small)).toBe(20);
    // The lane that was cut can be claimed from at once. A node still serves it.
    expect(found.find(({ laneId }) => laneId === large.laneId)).toMatchObject({ opensInMs: 0, isPulled: false });
    expect(found.find(({ laneId }) => laneId === small.laneId)?.opensInMs ?? null).toBeNull();

    const ids = claims.map(({ id }) => id);
    for (let more = await claim(); more.claims.length > 0; more = await claim()) ids.push(...more.claims.map(({ id }) => id));
    expect(ids).toHaveLength(35);
    expect(new Set(ids).size).toBe(35);
  },
);

test("a node's claim brings the jobs of a lane that it cuts in their order", async ({ database, engine }) => {
  const lane = await laneOfPayloads(database, 8, MIB);
  const claimant = { leaseId: await putNode(database), served: "push" } as const;
  const expected = await database.query<{ id: string }>("select id from job where lane_id = $1 order by priority desc, run_at, id", [
    lane.laneId,
  ]);
  const { claims } = await claimAcrossWorkspaces(engine, claimant, [{ ...lane, take: 8 }]);
  expect(claims.length).toBeLessThan(8);
  expect(claims.map(({ id }) => id).toSorted()).toEqual(
    expected
      .slice(0, claims.length)
      .map(({ id }) => id)
      .toSorted(),
  );
});

test("a node's claim brings a job whose payload is larger than all that a claim may bring", async ({ database, engine }) => {
  const lane = await laneOfPayloads(database, 2, MAX_CLAIM_BYTES + MIB);
  const claimant = { leaseId: await putNode(database), served: "push" } as const;
  const { claims } = await claimAcrossWorkspaces(engine, claimant, [{ ...lane, take: 10 }]);
  expect(claims).toHaveLength(1);
});
