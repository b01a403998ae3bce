import { expect } from "vitest";
import { ask } from "../harness/cluster.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

const QUEUES = [
  ["rejects", "reject"],
  ["approves", "approve"],
] as const;
const BATCHES = 3;
const JOBS = BATCHES * 1_000;

test("jobs whose time to be decided is up are decided once each, though their node is killed on the way", async ({ stage }) => {
  const dataDir = stage.migratedDataDir();
  const settings = { TIDEMILL_DATA_DIR: dataDir, TIDEMILL_NODE_LEASE_SECONDS: "2" };
  const first = await stage.node(settings);
  for (const [name, on_timeout] of QUEUES) {
    await first.client.ok("POST", "/v1/queues", { name, type: "approval", approval: { timeout: 600, on_timeout } });
    for (let batch = 0; batch < BATCHES; batch += 1) await first.client.enqueueMany(name, JOBS / BATCHES);
  }
  const pending = async () =>
    Number((await ask<{ jobs: string }>(dataDir, "select count(*) as jobs from job where state = 'pending_approval'"))[0]?.jobs);
  // All decisions together take longer than the way from the first of them to the kill.
  await ask(dataDir, "create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(0.002); return null; end'");
  await ask(dataDir, "create trigger slow after insert on audit_event for each row execute function slow()");
  await ask(dataDir, "update job set decide_at = moment()");
  await until(async () => (await pending()) < 2 * JOBS, "some to be decided");
  await first.kill();
  await ask(dataDir, "drop function slow cascade");
  expect(await pending()).toBeGreaterThan(0);

  const second = await stage.node(settings);
  await until(async () => (await pending()) === 0, "all to be decided");
  for (const [name, on_timeout] of QUEUES) {
    const [waiting, rejected] = on_timeout === "approve" ? [JOBS, 0] : [0, JOBS];
    expect(await second.client.states(name)).toMatchObject({ pending_approval: 0, waiting, rejected });
  }
  const told = await ask<{ type: string; events: string; jobs: string }>(
    dataDir,
    `select event_type as type, count(*) as events, count(distinct resource_id) as jobs from audit_event
     where event_type in ('job.approved', 'job.rejected') group by event_type order by event_type`,
  );
  expect(told.map(({ type, events, jobs }) => [type, Number(events), Number(jobs)])).toEqual([
    ["job.approved", JOBS, JOBS],
    ["job.rejected", JOBS, JOBS],
  ]);
});
