import { expect } from "vitest";
import { PeriodicReport } from "#kernel";
import { test } from "../harness/service.ts";

test("a request that the database cannot store because its disk is full says so, and may be tried again", async ({ service, database }) => {
  await service.ok("POST", "/v1/queues", { name: "emails" });
  await database.query(`create function full_disk() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`);
  await database.query("create trigger full_disk before insert on job for each row execute function full_disk()");
  const refused = await service.api("POST", "/v1/queues/emails/jobs", { payload: 1 });
  await database.query("drop function full_disk cascade");
  expect([refused.status, refused.headers.get("retry-after"), refused.body.error.message]).toEqual([
    503,
    "1",
    "The database accepts no writes at the moment.",
  ]);
  expect((await service.api("POST", "/v1/queues/emails/jobs", { payload: 1 })).status).toBe(201);
});

test("requests that the database refuses are reported now and then, with their number", () => {
  const counts: number[] = [];
  const refusals = new PeriodicReport();
  for (const nowMs of [0, 1, 9_999, 10_000, 10_001, 20_000]) refusals.count(nowMs, (count) => void counts.push(count));
  expect(counts).toEqual([1, 3, 2]);
});
