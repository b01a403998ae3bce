import { describe, expect } from "vitest";
import { schedule, test } from "../harness/schedules.ts";
import { until } from "../harness/service.ts";

describe("skipped ticks", () => {
  test("ticks that are skipped one after the other for the same reason are one entry, until one runs or the schedule is changed", async ({
    service,
    at,
  }) => {
    const handler = await service.handler({ answers: "hang" });
    const made = await schedule(service, { queue: handler.queue, overlap: "skip" });
    const skips = async (query = "") => (await service.ok("GET", `/v1/schedules/${made.name}/skips${query}`)).data;
    const overlap = (first: string, last: string) => ({ first: at(first)[0], last: at(last)[0], reason: "overlap" });
    await service.advance(60);
    await until(() => handler.open === 1, "the first job");
    expect(await skips()).toEqual([]);
    for (let minute = 2; minute < 5; minute += 1) await service.advance(60);
    expect(await skips()).toEqual([overlap("12:02", "12:04")]);
    handler.release();
    await service.untilIdle();
    await service.advance(60);
    await until(() => handler.open === 1, "the second job");
    await service.advance(60);
    expect(await skips()).toEqual([overlap("12:06", "12:06"), overlap("12:02", "12:04")]);
    await service.ok("PATCH", `/v1/schedules/${made.name}`, { tag: "changed" });
    await service.advance(60);
    expect(await skips()).toEqual([overlap("12:07", "12:07"), overlap("12:06", "12:06"), overlap("12:02", "12:04")]);
    expect(await skips("?limit=1")).toEqual([overlap("12:07", "12:07")]);
    expect((await service.api("GET", "/v1/schedules/absent/skips")).status).toBe(404);
    handler.answers = 200;
    handler.release();
  });

  test("ticks that were missed in a downtime are recorded from the first to the last", async ({ service, at }) => {
    const made = await schedule(service, { catch_up: "last" });
    await service.advance(10 * 60 + 30);
    expect((await service.ok("GET", `/v1/schedules/${made.name}/skips`)).data).toEqual([
      { first: at("12:01")[0], last: at("12:09")[0], reason: "catch_up" },
    ]);
  });

  test("a schedule keeps about a hundred entries", async ({ service, database, at }) => {
    const made = await schedule(service, { catch_up: "none" });
    await database.query(
      `insert into schedule_skip (workspace_id, schedule_id, first_at, last_at, reason)
       select workspace_id, id, moment() - n * interval '1 hour', moment() - n * interval '1 hour', 'overlap' from schedule, generate_series(1, 500) n
       where name = $1`,
      [made.name],
    );
    await service.advance(90);
    const kept = await database.query<{ n: number }>(
      "select count(*)::int as n from schedule_skip s join schedule on id = schedule_id where name = $1",
      [made.name],
    );
    expect(kept).toEqual([{ n: 100 }]);
    const { data } = await service.ok("GET", `/v1/schedules/${made.name}/skips?limit=100`);
    expect([data.length, data[0].first]).toEqual([100, at("12:01")[0]]);
  });
});
