import { expect, onTestFinished } from "vitest";
import { sql } from "#kernel";
import { test, uuidOfJob } from "../harness/engine.ts";
import { hold, isWaiting } from "../harness/locks.ts";
import { until } from "../harness/service.ts";
import { take } from "../harness/workers.ts";

/** Any number; nothing else in the tests uses it. */
const LOCK = 7_355_608;

test("a job that changes between the snapshot of a claim and its lock goes to the worker all the same", async ({
  service,
  engine,
  database,
}) => {
  // A claim reads the time before it looks for jobs, so it can be stopped there.
  const [{ definition } = { definition: "" }] = await database.query<{ definition: string }>(
    "select pg_get_functiondef('tidemill.moment'::regproc) as definition",
  );
  await database.query(definition.replace("moment()", "moment_of_test()"));
  onTestFinished(() => database.query(definition).then(() => {}));
  await database.query(
    `create or replace function tidemill.moment() returns timestamptz language plpgsql stable as
     $$ begin perform pg_advisory_xact_lock_shared(${LOCK}); return tidemill.moment_of_test(); end $$`,
  );
  const queue = await service.queue();
  // Planning reads the time, too: this plans the claim.
  expect(await take(service, queue)).toEqual([]);
  const job = await service.enqueue({ queue });
  const lock = hold(engine, sql`select pg_advisory_xact_lock(${LOCK})`);
  onTestFinished(() => lock.release());
  await lock.held;
  const taking = take(service, queue, { wait: 20 });
  await until(() => isWaiting(database, "claimant"), "the claim to wait");
  await database.query("update tidemill.job set priority = 5 where id = $1", [uuidOfJob(job)]);
  await lock.release();
  expect((await taking).map(({ id }) => id)).toEqual([job.id]);
});
