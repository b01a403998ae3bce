import { describe, expect } from "vitest";
import { Client } from "../../server/test/harness/client.ts";
import type { TestDatabase } from "../../server/test/harness/database.ts";
import { type Stage, test } from "../../server/test/harness/stage.ts";
import { output, outputHere, readRows, readTable } from "./output.ts";
import { runHere } from "./run-here.ts";

interface Stored {
  readonly name: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly queue?: string;
  readonly paused?: boolean;
  /** RFC 3339. Far from now, so that no test depends on when it runs. */
  readonly next?: string | null;
  readonly last?: string | null;
  readonly count?: number;
}

/** A workspace with the queues "reports" and "mails" in a database where no node runs, and what lists its schedules by the clock of Kathmandu. */
async function workspaceOf(stage: Stage) {
  const database = await stage.database();
  const settings = { DATABASE_URL: database.url, TZ: "Asia/Kathmandu" };
  const { id } = JSON.parse(await outputHere(["workspace", "create", "Acme", "--json"], settings));
  await database.query(
    "with l as (insert into lane (workspace_id, kind, name, served) select id, 'queue', unnest(array['reports', 'mails']), 'pull' from workspace returning workspace_id, id) insert into queue (workspace_id, id) select workspace_id, id from l",
  );
  const list = (...args: string[]) => output(stage, ["schedule", "list", id, ...args], settings);
  const listHere = (...args: string[]) => outputHere(["schedule", "list", id, ...args], settings);
  const listNewest = () => runHere(["schedule", "list", id, "--json"], settings);
  return { list, listHere, listNewest, put: (stored: Stored) => putSchedules(database, stored) };
}

async function putSchedules(database: TestDatabase, { name, queue = "reports", ...stored }: Stored): Promise<void> {
  const { cron = "30 1 * * *", timezone = "America/New_York", paused = false, last = null, count = 1 } = stored;
  const { next = paused ? null : "2099-10-31T05:30:00Z" } = stored;
  await database.query(
    `insert into schedule (workspace_id, lane_id, name, cron, timezone, payload, overlap, catch_up, paused, next_run_at, last_run_at)
     select workspace_id, id, $1 || case when n > 1 then n::text else '' end, $3, $4, '1', 'allow', 'last', $5, $6, $7
     from lane, generate_series(1, $8) n where name = $2`,
    [name, queue, cron, timezone, paused, next, last, count],
  );
}

describe("tidemill schedule list", () => {
  test("tidemill schedule list shows each schedule's next run by its own clocks and by the operator's", async ({ stage }) => {
    const { list, put } = await workspaceOf(stage);
    await put({ name: "nightly", last: "2026-11-21T06:30:00Z" });
    const table = await list();
    expect(readTable(table)).toEqual({
      NAME: "nightly",
      QUEUE: "reports",
      CRON: "30 1 * * *",
      STATE: "active",
      TIMEZONE: "America/New_York",
      NEXT_RUN_IN_TIMEZONE: "2099-10-31 01:30:00 -04:00",
      NEXT_RUN_LOCAL: "2099-10-31 11:15:00 +05:45",
      LAST_RUN_LOCAL: "2026-11-21 12:15:00 +05:45",
    });
    expect(JSON.parse(await list("--json"))).toEqual([
      {
        name: "nightly",
        queue: "reports",
        cron: "30 1 * * *",
        timezone: "America/New_York",
        state: "active",
        next_runs: [{ run_at: "2099-10-31T05:30:00.000Z", in_timezone: "2099-10-31 01:30:00 -04:00", local: "2099-10-31 11:15:00 +05:45" }],
        last_run_at: "2026-11-21T06:30:00.000Z",
      },
    ]);
  });

  test("tidemill schedule list shows as many next runs as are asked for, on through the end of daylight saving", async ({ stage }) => {
    const { list, put } = await workspaceOf(stage);
    await put({ name: "nightly" });
    await put({ name: "hourly", cron: "@hourly", next: "2099-11-01T05:00:00Z" });
    const rows = readRows(await list("--next", "3"));
    expect(rows.map((row) => [row.NAME, row.NEXT_RUN_IN_TIMEZONE, row.NEXT_RUN_LOCAL])).toEqual([
      ["hourly", "2099-11-01 01:00:00 -04:00", "2099-11-01 10:45:00 +05:45"],
      ["", "2099-11-01 01:00:00 -05:00", "2099-11-01 11:45:00 +05:45"],
      ["", "2099-11-01 02:00:00 -05:00", "2099-11-01 12:45:00 +05:45"],
      ["nightly", "2099-10-31 01:30:00 -04:00", "2099-10-31 11:15:00 +05:45"],
      ["", "2099-11-01 01:30:00 -04:00", "2099-11-01 11:15:00 +05:45"],
      ["", "2099-11-02 01:30:00 -05:00", "2099-11-02 12:15:00 +05:45"],
    ]);
  });

  test("tidemill schedule list shows paused ones without a next run", async ({ stage }) => {
    const { list, put } = await workspaceOf(stage);
    await put({ name: "nightly", paused: true });
    expect(readTable(await list("--next", "10"))).toMatchObject({
      NAME: "nightly",
      STATE: "paused",
      NEXT_RUN_IN_TIMEZONE: "",
      NEXT_RUN_LOCAL: "",
    });
    expect(JSON.parse(await list("--json"))).toMatchObject([{ state: "paused", next_runs: [], last_run_at: null }]);
  });

  test("tidemill schedule list shows one in a time zone that this Node does not know by UTC, and says so", async ({ stage }) => {
    const { list, put } = await workspaceOf(stage);
    await put({ name: "hourly", cron: "@hourly" });
    await put({ name: "martian", timezone: "Mars/Olympus" });
    const rows = readRows(await list("--next", "2"));
    expect(rows.map(({ NAME, NEXT_RUN_IN_TIMEZONE }) => [NAME, NEXT_RUN_IN_TIMEZONE])).toEqual([
      ["martian", "2099-10-31 05:30:00 +00:00 (UTC: the time zone is not known here)"],
      ["hourly", "2099-10-31 01:30:00 -04:00"],
      ["", "2099-10-31 02:00:00 -04:00"],
    ]);
  });

  test("tidemill schedule list shows those of one queue, and those that are paused", async ({ stage }) => {
    const { listHere, put } = await workspaceOf(stage);
    await put({ name: "one" });
    await put({ name: "two", paused: true });
    await put({ name: "three", queue: "mails", paused: true });
    const names = async (...args: string[]) => readRows(await listHere(...args)).map(({ NAME }) => NAME);
    expect(await names()).toEqual(["three", "two", "one"]);
    expect(await names("--queue", "reports")).toEqual(["two", "one"]);
    expect(await names("--paused")).toEqual(["three", "two"]);
    expect(await names("--state", "active")).toEqual(["one"]);
    expect(await names("--state", "active,paused", "--queue", "mails,reports")).toEqual(["three", "two", "one"]);
    expect(await names("--queue", "reports", "--paused")).toEqual(["two"]);
    expect(await listHere("--queue", "none")).toMatch(/^NAME\tQUEUE\t[^\n]*\n$/);
  });

  test("tidemill schedule list shows them to the last one, whatever a page holds", async ({ stage }) => {
    const { listHere, listNewest, put } = await workspaceOf(stage);
    await put({ name: "nightly", count: 201 });
    const listed = JSON.parse(await listHere("--all", "--json")) as { name: string }[];
    expect([listed.length, new Set(listed.map(({ name }) => name)).size]).toEqual([201, 201]);
    const newest = await listNewest();
    expect(JSON.parse(newest.stdout)).toHaveLength(50);
    expect(newest.stderr).toBe("tidemill: There are more. Use --limit or --all to list them.\n");
    expect(JSON.parse(await listHere("--limit", "120", "--json"))).toEqual(listed.slice(0, 120));
  });

  test("tidemill schedule list works beside a running node, on what was made over HTTP", async ({ stage }) => {
    const settings = { TIDEMILL_DATA_DIR: stage.migratedDataDir() };
    const node = await stage.node(settings);
    const { id, key } = JSON.parse(await output(stage, ["workspace", "create", "Acme", "--json"], settings));
    const acme = new Client(node.url, key);
    await acme.ok("POST", "/v1/queues", { name: "reports" });
    const { next_run_at } = await acme.ok("POST", "/v1/schedules", { name: "yearly", queue: "reports", cron: "@yearly", timezone: "UTC" });
    const listed = JSON.parse(await output(stage, ["schedule", "list", id, "--json"], settings));
    expect(listed).toMatchObject([{ name: "yearly", queue: "reports", cron: "@yearly", next_runs: [{ run_at: next_run_at }] }]);
  });
});
