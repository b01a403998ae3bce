import { describe, expect } from "vitest";
import type { JobId } from "#kernel";
import type { LaneKey } from "#lanes";
import { sweepDeletedLanesAcrossWorkspaces } from "#retention";
import { sweepIdempotencyKeysAcrossWorkspaces } from "../../src/jobs/sweep-idempotency-keys.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";

/** Inserts idempotency keys of these jobs, to be checked at `checkAt`, an SQL expression. */
const putKeys = (database: TestDatabase, { workspaceId, laneId }: LaneKey, jobs: readonly JobId[], checkAt = "moment()") =>
  database.query(
    `insert into idempotency_key (workspace_id, lane_id, key, job_id, fingerprint, check_at)
     select $1, $2, id::text, id, sha256('x'), ${checkAt} from unnest($3::uuid[]) id`,
    [workspaceId, laneId, jobs],
  );

const left = async (database: TestDatabase, { laneId }: LaneKey): Promise<number> =>
  (await database.query<{ n: number }>("select count(*)::int as n from idempotency_key where lane_id = $1", [laneId]))[0]?.n ?? 0;

const GONE = "01900000-0000-7000-8000-ffffffffffff" as JobId;

describe("the sweep of idempotency keys", () => {
  test("the sweep of idempotency keys forgets one whose job's record is gone, when it is time to look", async ({
    database,
    clock,
    engine,
  }) => {
    const lane = await putLane(database);
    await putKeys(database, lane, [GONE], "moment() + interval '1 hour'");
    await clock.advance(3_599);
    await sweepIdempotencyKeysAcrossWorkspaces(engine);
    expect(await left(database, lane)).toBe(1);
    await clock.advance(1);
    await sweepIdempotencyKeysAcrossWorkspaces(engine);
    expect(await left(database, lane)).toBe(0);
  });

  test.for(["waiting", "delayed", "failed", "completed", "cancelled"] as const)(
    "the sweep of idempotency keys keeps one whose job is %s",
    async (state, { database, engine }) => {
      const lane = await putLane(database);
      await putKeys(database, lane, await putJobs(database, lane, { state }));
      await sweepIdempotencyKeysAcrossWorkspaces(engine);
      expect(await left(database, lane)).toBe(1);
    },
  );

  test("the sweep of idempotency keys forgets one of a finished job when its record expires, not before", async ({
    database,
    clock,
    engine,
  }) => {
    const lane = await putLane(database);
    await putKeys(database, lane, await putJobs(database, lane, { state: "completed", expiresAt: "moment() + interval '3 days'" }));
    await sweepIdempotencyKeysAcrossWorkspaces(engine);
    await clock.advance(3 * 86_400 - 1);
    await sweepIdempotencyKeysAcrossWorkspaces(engine);
    expect(await left(database, lane)).toBe(1);
    await clock.advance(1);
    await sweepIdempotencyKeysAcrossWorkspaces(engine);
    expect(await left(database, lane)).toBe(0);
  });

  test("the sweep of idempotency keys looks again in a week at one that never expires", async ({ database, clock, engine }) => {
    const lane = await putLane(database, { retentionDays: null });
    const jobs = await putJobs(database, lane, { state: "completed", expiresAt: "'infinity'" });
    await putKeys(database, lane, jobs);
    await sweepIdempotencyKeysAcrossWorkspaces(engine);
    await database.query("delete from job_history where id = $1", [jobs[0]]);
    await clock.advance(7 * 86_400 - 1);
    await sweepIdempotencyKeysAcrossWorkspaces(engine);
    expect(await left(database, lane)).toBe(1);
    await clock.advance(1);
    await sweepIdempotencyKeysAcrossWorkspaces(engine);
    expect(await left(database, lane)).toBe(0);
  });

  test("the sweep of idempotency keys looks at all that are due, however many", async ({ database, engine }) => {
    const lane = await putLane(database);
    const jobs = await putJobs(database, lane, { state: "completed", count: 2_500 });
    await database.query("delete from job_history where id = any($1)", [jobs.slice(0, 2_400)]);
    await putKeys(database, lane, jobs);
    while ((await sweepIdempotencyKeysAcrossWorkspaces(engine)) === 0);
    expect(await left(database, lane)).toBe(100);
  });
});

test("a deleted queue's keys go before it, more than one statement takes", async ({ database, clock, engine }) => {
  const [deleted, kept] = [await putLane(database), await putLane(database)];
  const jobs = await putJobs(database, deleted, { state: "completed", count: 5_001 });
  await putKeys(database, deleted, jobs);
  await putKeys(database, kept, await putJobs(database, kept, { state: "waiting" }));
  await database.query("update lane set deleted_at = moment() where id = $1", [deleted.laneId]);
  await clock.advance(61);
  while ((await sweepDeletedLanesAcrossWorkspaces(engine, () => {})) === 0);
  expect([await left(database, deleted), await left(database, kept)]).toEqual([0, 1]);
  expect(await database.query("select from lane where id = $1", [deleted.laneId])).toEqual([]);
});
