import { expect } from "vitest";
import { JobKinds, Settler } from "#engine";
import type { Claim } from "#jobs";
import { type JobId, type Statement, unavailable } from "#kernel";
import type { LaneKey } from "#lanes";
import { claimed } from "../harness/dispatcher-fixture.ts";
import { putLane, putNode, test } from "../harness/engine.ts";
import { putJobs, stateOf } from "../harness/jobs.ts";
import { lockWaits } from "../harness/lock-waits.ts";

test("a lane is settled one by one until none of its settlements is blocked any more, and then together again", async ({
  database,
  engine,
}) => {
  const leaseId = await putNode(database);
  const [lane, other] = [await putLane(database), await putLane(database)];
  const blocked = new Set<JobId>();
  let written: number[] = [];
  const query = async (statement: Statement) => {
    // Of the columns of a settle, that of the jobs is the last one with ids.
    const jobs = statement.values.map((value) => String(value).match(/[0-9a-f-]{36}/g) ?? []).findLast(({ length }) => length > 0) ?? [];
    if (jobs.some((id) => blocked.has(id as JobId))) throw Object.assign(unavailable(), { cause: { code: "57014" } });
    written.push(jobs.length);
    return engine.query(statement);
  };
  const settler = new Settler({ query, transaction: (work) => work({ query }) }, new JobKinds([]), () => {}, lockWaits());
  const put = async (of: LaneKey, count: number): Promise<Claim[]> =>
    (await putJobs(database, of, { state: "active", leaseId, count })).map((id) => ({ ...claimed(1), ...of, id, leaseId }));
  const settle = (claims: readonly Claim[]) =>
    settler.addAll(claims.map((claim) => ({ claim, verdict: { kind: "complete", status: 200, result: null }, facts: { tookMs: 1 } })));
  const sizesOf = async (claims: readonly Claim[]) => {
    written = [];
    await settle(claims);
    return written;
  };

  const [one = expect.fail(), two = expect.fail(), free = expect.fail()] = await put(lane, 3);
  blocked.add(one.id).add(two.id);
  const settling = [settle([one]), settle([two])];
  // It has its turn after both have timed out alone.
  await settle([free, ...(await put(other, 1))]);
  expect(await sizesOf(await put(lane, 5))).toEqual(Array(5).fill(1));
  expect(await sizesOf(await put(other, 5))).toEqual([5]);

  blocked.delete(one.id);
  await settling[0];
  expect(await sizesOf(await put(lane, 5))).toEqual(Array(5).fill(1));

  blocked.delete(two.id);
  await settling[1];
  expect(await sizesOf(await put(lane, 5))).toEqual([5]);
  expect(await Promise.all([one, two, free].map(({ id }) => stateOf(database, id)))).toEqual(Array(3).fill("completed"));
  await settler.settled();
});
