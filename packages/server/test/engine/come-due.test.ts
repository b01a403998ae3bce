import { describe, expect } from "vitest";
import { FIRST_DUE, moveDueAcrossWorkspaces } from "#jobs";
import { type Db, rows, sql, unavailable, type WorkspaceId } from "#kernel";
import type { LaneKey } from "#lanes";
import { PromoteDelayed } from "../../src/engine/come-due.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { hold } from "../harness/locks.ts";
import { until } from "../harness/service.ts";

const NO_ONE = { wake: () => {}, wakeAt: () => {} };
const quiet = () => {};
const ago = (seconds: number) => `moment() - interval '${seconds} seconds'`;

/** Lanes of workspaces of their own, with delayed jobs: how many each, due for how many seconds. */
async function putDelayed(database: TestDatabase, ...lanes: [count: number, secondsAgo: number][]): Promise<LaneKey[]> {
  await database.query("truncate job");
  const put: LaneKey[] = [];
  for (const [count, seconds] of lanes) {
    const lane = await putLane(database, { paused: true });
    await putJobs(database, lane, { state: "delayed", runAt: ago(seconds), count });
    put.push(lane);
  }
  return put;
}

/** Adds workspaces with a delayed job that is not due yet. */
async function putLater(database: TestDatabase, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1)
    await putJobs(database, await putLane(database, { paused: true }), { state: "delayed", runAt: ago(-3_600) });
}

/** How many jobs of each lane wait. */
const waitingIn = async (database: TestDatabase, lanes: readonly LaneKey[]): Promise<number[]> =>
  Promise.all(
    lanes.map(async ({ workspaceId, laneId }) => {
      const [found] = await database.query<{ jobs: number }>(
        "select count(*)::int as jobs from job where workspace_id = $1 and lane_id = $2 and state = 'waiting'",
        [workspaceId, laneId],
      );
      return found?.jobs ?? 0;
    }),
  );

describe("jobs that come due", () => {
  test("jobs that come due are all moved by one batch when they are few", async ({ database, engine }) => {
    const lanes = await putDelayed(database, [5, 2], [5, 1]);
    const { moved, isCrowded } = await moveDueAcrossWorkspaces(engine, 10);
    expect([moved, isCrowded]).toEqual([10, false]);
    expect(await waitingIn(database, lanes)).toEqual([5, 5]);
  });

  test("each workspace with due jobs gets an equal share of a batch when more are due than it moves", async ({ database, engine }) => {
    const lanes = await putDelayed(database, [100, 60], [3, 1], [50, 2]);
    expect(await moveDueAcrossWorkspaces(engine, 30)).toMatchObject({ moved: 23, isCrowded: true });
    expect(await waitingIn(database, lanes)).toEqual([10, 3, 10]);
    expect(await moveDueAcrossWorkspaces(engine, 30)).toMatchObject({ moved: 30, isCrowded: true });
    expect(await waitingIn(database, lanes)).toEqual([25, 3, 25]);
  });

  test("a workspace that is alone gets the whole batch, its longest waiting jobs first", async ({ database, engine }) => {
    const [lane] = await putDelayed(database, [50, 1]);
    await putJobs(database, lane as LaneKey, { state: "delayed", runAt: ago(9), tag: "old", count: 10 });
    await moveDueAcrossWorkspaces(engine, 20);
    const moved = await database.query("select tag, count(*)::int as jobs from job where state = 'waiting' group by tag order by tag");
    expect(moved).toEqual([
      { tag: "old", jobs: 10 },
      { tag: null, jobs: 10 },
    ]);
  });

  test("a batch visits a limited number of workspaces, and the next ones go on until each had its turn", async ({ database, engine }) => {
    const small = await putDelayed(database, ...Array.from({ length: 10 }, () => [1, 1] as [number, number]));
    const large = await putLane(database, { paused: true });
    await putJobs(database, large, { state: "delayed", runAt: ago(1), count: 500 });
    await putLater(database, 10);
    let position = FIRST_DUE;
    // Of 21 workspaces with delayed jobs each batch visits 5.
    for (let batch = 0; batch < 5; batch += 1) {
      const before = await waitingIn(database, small);
      position = (await moveDueAcrossWorkspaces(engine, 10, position)).next;
      const after = await waitingIn(database, small);
      expect(after.filter((jobs, index) => jobs > (before[index] as number)).length).toBeLessThanOrEqual(5);
    }
    expect(await waitingIn(database, small)).toEqual(small.map(() => 1));
    expect(position.afterWorkspace).toBeNull();
  });

  test("a workspace with many due jobs takes part in every batch, wherever the visit is", async ({ database, engine }) => {
    await putDelayed(database, [200, 1]);
    await putLater(database, 40);
    const moved: number[] = [];
    let position = FIRST_DUE;
    for (let batch = 0; batch < 20; batch += 1) {
      const done = await moveDueAcrossWorkspaces(engine, 10, position);
      position = done.next;
      moved.push(done.moved);
    }
    // The visit reaches the workspace within 9 batches. From then on it gets all of each.
    expect(moved.filter((jobs) => jobs === 10).length).toBeGreaterThanOrEqual(12);
    expect(moved.lastIndexOf(0)).toBe(moved.indexOf(10) - 1);
  });

  test("workspaces whose jobs are not due yet take no share", async ({ database, engine }) => {
    const lanes = await putDelayed(database, [20, 1], [1, -60], [1, -60]);
    await moveDueAcrossWorkspaces(engine, 10);
    expect(await waitingIn(database, lanes)).toEqual([10, 0, 0]);
  });

  test("the next batch follows at once while there is more, and at the time of the next job after that", async ({ database, engine }) => {
    await putDelayed(database, [251, 1], [1, -60]);
    const comeDue = new PromoteDelayed(engine, NO_ONE, lockWaits(), quiet);
    expect(await comeDue.pass()).toBe(0);
    expect(await comeDue.pass()).toBe(60_000);
  });

  test("a node waits a little while another one has locked all that is due", async ({ database, engine }) => {
    await putDelayed(database, [251, 1]);
    const wait = await engine.transaction(async (tx) => {
      await moveDueAcrossWorkspaces(tx, 2_000);
      return new PromoteDelayed(engine, NO_ONE, lockWaits(), quiet).pass();
    });
    expect(wait).toBe(50);
  });

  test("while more are due than a batch moves, one node moves them, and another one keeps its place", async ({ database, engine }) => {
    const lanes = await putDelayed(database, [251, 1], [251, 1]);
    const [first, other] = lanes.map(({ workspaceId }) => workspaceId) as [WorkspaceId, WorkspaceId];
    const before = { afterWorkspace: first, unfinished: [other] };
    const [second, wait] = await engine.transaction(async (tx) => {
      await moveDueAcrossWorkspaces(tx, 10);
      return [
        await moveDueAcrossWorkspaces(engine, 10, before),
        await new PromoteDelayed(engine, NO_ONE, lockWaits(), quiet).pass(),
      ] as const;
    });
    expect(second).toMatchObject({ moved: 0, isCrowded: true, isLocked: true, next: before });
    expect(wait).toBe(50);
    expect(await moveDueAcrossWorkspaces(engine, 10, before)).toMatchObject({ moved: 10, isCrowded: true, isLocked: false });
  });

  test("the commit that moves them does not wait for the disk, and others do", async ({ database, engine }) => {
    await putDelayed(database, [1, 1]);
    const modeOf = async (db: Db) => (await rows<{ mode: string }>(db, sql`select current_setting('synchronous_commit') as mode`))[0]?.mode;
    const during = await engine.transaction(async (tx) => {
      await moveDueAcrossWorkspaces(tx, 10);
      return modeOf(tx);
    });
    expect([during, await modeOf(engine)]).toEqual(["off", "on"]);
  });

  test("a lane whose keys another transaction has locked holds up no others, and its jobs are moved once it has ended", async ({
    database,
    engine,
  }) => {
    const [locked, other] = (await putDelayed(database, [3, 2], [2, 1])) as [LaneKey, LaneKey];
    await database.query("update job set concurrency_key = 'k'");
    const free = await putJobs(database, locked, { state: "delayed", runAt: ago(1) });
    const lock = hold(engine, sql`select lock_keys(array[${locked.laneId}::bigint], array['k'])`);
    await lock.held;
    const woken: LaneKey[] = [];
    const comeDue = new PromoteDelayed(engine, { ...NO_ONE, wake: (lanes) => woken.push(...lanes) }, lockWaits(), quiet);
    expect(await comeDue.pass()).toBe(50);
    expect(await waitingIn(database, [locked, other])).toEqual([free.length, 2]);
    // The statement that waits for the key is the only one.
    await lock.untilWaiting(1);
    expect(await comeDue.pass()).toBeUndefined();
    expect(woken.splice(0)).toHaveLength(2);
    await lock.release();
    await until(() => woken.length > 0, "the jobs to be moved");
    expect(await waitingIn(database, [locked, other])).toEqual([3 + free.length, 2]);
    expect(
      await database.query("select lane_id::int, count(*)::int as jobs from job where key_slot is not null group by 1 order by 1"),
    ).toEqual([locked, other].map(({ laneId }) => ({ lane_id: laneId, jobs: 1 })));
  });

  test("a node that stops waits for jobs whose keys are locked, and wakes their lane", async ({ database, engine }) => {
    const [locked] = (await putDelayed(database, [1, 1])) as [LaneKey];
    await database.query("update job set concurrency_key = 'k'");
    const lock = hold(engine, sql`select lock_keys(array[${locked.laneId}::bigint], array['k'])`);
    await lock.held;
    const told: string[] = [];
    const comeDue = new PromoteDelayed(engine, { ...NO_ONE, wake: () => told.push("woken") }, lockWaits(), quiet);
    await comeDue.pass();
    await lock.untilWaiting(1);
    const stopped = comeDue.stop().then(() => told.push("stopped"));
    await lock.release();
    await stopped;
    expect(told).toEqual(["woken", "stopped"]);
  });

  test("jobs whose keys are locked for too long are reported, and tried again", async ({ database, engine }) => {
    const [locked] = (await putDelayed(database, [1, 1])) as [LaneKey];
    await database.query("update job set concurrency_key = 'k'");
    const lock = hold(engine, sql`select lock_keys(array[${locked.laneId}::bigint], array['k'])`);
    await lock.held;
    let isSlow = true;
    const query: Db["query"] = (statement) => {
      if (isSlow && statement.text.includes("id = any(array(select id from due))")) throw unavailable();
      return engine.query(statement);
    };
    const told: unknown[] = [];
    const comeDue = new PromoteDelayed({ query }, NO_ONE, lockWaits(), (event, fields) => told.push({ event, ...fields }));
    await comeDue.pass();
    await until(() => told.length > 0, "the failure to be reported");
    expect(told).toEqual([{ event: "locked_jobs_retried", ...locked, error: expect.objectContaining({ code: "UNAVAILABLE" }) }]);
    isSlow = false;
    await comeDue.pass();
    await lock.untilWaiting(1);
    await lock.release();
    await comeDue.stop();
    expect(await waitingIn(database, [locked])).toEqual([1]);
  });

  test("to find out that nothing is due takes one statement", async ({ database, engine }) => {
    await putDelayed(database, [1, -60]);
    let statements = 0;
    const db: typeof engine.query = (statement) => {
      statements += 1;
      return engine.query(statement);
    };
    expect(await new PromoteDelayed({ query: db }, NO_ONE, lockWaits(), quiet).pass()).toBe(60_000);
    expect(statements).toBe(1);
  });
});
