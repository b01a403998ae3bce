import { describe, expect, onTestFinished } from "vitest";
import { recordCallsAcrossWorkspaces } from "#engine";
import { claimForWorkersAcrossWorkspaces, claimFromBacklogAcrossWorkspaces, type Holder } from "#jobs";
import { Database, type Db, sql, toMoment } from "#kernel";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, putNode, test, uuidOfJob } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { type HeldLock, hold, isWaiting } from "../harness/locks.ts";
import { until } from "../harness/service.ts";
import { take } from "../harness/workers.ts";

/** Any number; nothing else in the tests uses it. */
const LOCK = 7_355_608;

/** A claim reads the time before it looks for jobs. From now on it can be stopped there, by a lock. */
async function makeTimeStoppable(database: TestDatabase): Promise<void> {
  const [{ definition } = { definition: "" }] = await database.query<{ definition: string }>(
    "select pg_get_functiondef('tidemill.moment'::regproc) as definition",
  );
  await database.query(definition.replace("moment()", "moment_of_test()"));
  onTestFinished(() => database.query(definition).then(() => {}));
  await database.query(
    `create or replace function tidemill.moment() returns timestamptz language plpgsql stable as
     $$ begin perform pg_advisory_xact_lock_shared(${LOCK}); return tidemill.moment_of_test(); end $$`,
  );
}

async function stopTime(engine: Database): Promise<HeldLock> {
  const lock = hold(engine, sql`select pg_advisory_xact_lock(${LOCK})`);
  onTestFinished(() => lock.release());
  await lock.held;
  return lock;
}

test("a job that changes between the snapshot of a claim and its lock goes to the worker all the same", async ({
  service,
  engine,
  database,
}) => {
  await makeTimeStoppable(database);
  const queue = await service.queue();
  // Planning reads the time, too: this plans the claim.
  expect(await take(service, queue)).toEqual([]);
  const job = await service.enqueue({ queue });
  const lock = await stopTime(engine);
  const taking = take(service, queue, { wait: 20 });
  await until(() => isWaiting(database, "claimant"), "the claim to wait");
  await database.query("update tidemill.job set priority = 5 where id = $1", [uuidOfJob(job)]);
  await lock.release();
  expect((await taking).map(({ id }) => id)).toEqual([job.id]);
});

const CLAIMS: Record<string, { text: string; claim: (db: Db, node: number, holder: Holder) => Promise<readonly { id: string }[]> }> = {
  "from one queue": {
    text: "claimant",
    claim: async (db, node, holder) => (await claimForWorkersAcrossWorkspaces(db, node, [holder], false)).claims,
  },
  "from a backlog": {
    text: "lease_id = next.lease_id",
    claim: (db, node, holder) => claimFromBacklogAcrossWorkspaces(db, node, [holder]),
  },
};

describe.for(Object.entries(CLAIMS))("a claim %s, between whose snapshot and lock a job moves,", ([, { text, claim }]) => {
  test.for([
    { change: "leaves the job to the next claim", sets: "tag = 'changed'", next: [1] },
    {
      change: "does not take it from another claim",
      sets: "state = 'active', attempt = attempt + 1, lease_id = LEASE, started_at = now(), lease_until = now() + interval '1 hour'",
      next: [],
    },
  ])("a claim between whose snapshot and lock a job moves $change", async ({ sets, next }, { database, engine }) => {
    await makeTimeStoppable(database);
    const lane = await putLane(database);
    await database.query("update lane set served = 'pull' where id = $1", [lane.laneId]);
    const node = await putNode(database);
    const [{ leaseId } = { leaseId: 0 }] = await recordCallsAcrossWorkspaces(engine, [
      { workspaceId: lane.workspaceId, name: "mailer", version: null, queues: [], workflows: [], seenAt: toMoment(0) },
    ]);
    const holder = { ...lane, take: 3, leaseId, leaseSeconds: 30, request: null, version: null };
    // One connection, which has planned the claim: planning reads the time, too.
    const db = new Database({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 10_000 });
    onTestFinished(() => db.close());
    expect(await claim(db, node, holder)).toEqual([]);
    const ids = await putJobs(database, lane, { state: "waiting", count: 3 });
    const claimed = async () => (await claim(db, node, holder)).map(({ id }) => ids.indexOf(id as never)).toSorted();
    const lock = await stopTime(engine);
    const claiming = claimed();
    await until(() => isWaiting(database, text), "the claim to wait");
    await database.query(`update job set ${sets.replace("LEASE", String(leaseId))} where id = $1`, [ids[1]]);
    await lock.release();
    expect(await claiming).toEqual([0, 2]);
    expect(await claimed()).toEqual(next);
    expect(await database.query("select state, attempt from job where lane_id = $1", [lane.laneId])).toEqual(
      ids.map(() => ({ state: "active", attempt: 1 })),
    );
  });
});
