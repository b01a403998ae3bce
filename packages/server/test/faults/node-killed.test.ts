import { expect } from "vitest";
import { ask, hasPostgres, postmasterOf } from "../harness/cluster.ts";
import { LeaseWatch } from "../harness/lease-watch.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

const JOBS = 1_000;

test("jobs in flight when their node is killed reach the handler again, one attempt after the other", async ({ stage }) => {
  const dataDir = stage.migratedDataDir();
  const settings = { TIDEMILL_DATA_DIR: dataDir };
  const handler = await stage.handler("hang");
  const arrived = (attempt: number) => handler.received.filter(({ body }) => body.attempt === attempt).length;
  const first = await stage.node(settings);
  const queue = await first.client.queue("mails", handler.url, { callback_timeout: 900 });
  const query = (text: string) => ask(dataDir, text);
  const watch = LeaseWatch.over(query);
  stage.finally(() => watch.stop());
  const acknowledged = await first.client.enqueueMany(queue, JOBS);
  await until(() => handler.open === JOBS, "every job to be in flight");
  const postgres = postmasterOf(dataDir);

  // A job whose node is killed three times would fail, because it may be the cause.
  await first.kill();
  await first.endLease(query);
  await until(() => handler.open === 0, "its connections to be gone");
  const second = await stage.node(settings);
  await until(() => arrived(2) === JOBS && handler.open === JOBS, "every job to be in flight again");
  await second.kill();
  await second.endLease(query);
  await until(() => handler.open === 0, "its connections to be gone");
  handler.answers = 200;
  const third = await stage.node(settings);
  await until(async () => (await third.client.states(queue)).completed === JOBS, "every job to complete");

  await watch.stop();

  expect(await hasPostgres(dataDir)).toBe(true);
  expect(postmasterOf(dataDir)).toBe(postgres);
  expect([second.logged("postgres_adopted"), second.logged("postgres_started")]).toEqual([1, 0]);
  const expected = acknowledged.flatMap((id) => [1, 2, 3].map((attempt) => `${id} ${attempt}`));
  expect(handler.received.map(({ body }) => `${body.id} ${body.attempt}`).toSorted()).toEqual(expected.toSorted());
  const logs = await ask<{ log: string; jobs: string }>(
    dataDir,
    `select string_agg(concat(entry->>'attempt', entry->>'outcome', entry->'error'->>'code'), ' ' order by place) as log
     from job_history, json_array_elements(('[' || attempts_log || ']')::json) with ordinality as entries (entry, place) group by id`,
  );
  expect(logs).toHaveLength(JOBS);
  expect(new Set(logs.map(({ log }) => log))).toEqual(new Set(["1lostNODE_LOST 2lostNODE_LOST 3completed"]));
  expect(watch.looks).toBeGreaterThan(0);
  expect(watch.violations).toEqual([]);
  third.signal("SIGTERM");
  expect(await third.end()).toEqual({ code: 0, signal: null });
  expect(await hasPostgres(dataDir)).toBe(false);
});
