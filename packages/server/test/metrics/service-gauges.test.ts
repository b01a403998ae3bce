import { Registry } from "prom-client";
import { describe, expect } from "vitest";
import { sql } from "#kernel";
import { observeService, readServiceTotalsAcrossWorkspaces, type ServiceTotals } from "#metrics";
import { OldestSampler } from "../../src/jobs/sample-oldest.ts";
import { foldCountsAcrossWorkspaces } from "../../src/jobs/store/fold-counts.ts";
import { laneOf, test } from "../harness/engine.ts";
import { limitedTo } from "../harness/limits.ts";
import { operate } from "../harness/operator.ts";

const TOTALS: ServiceTotals = {
  waiting: 7,
  delayed: 6,
  pending_approval: 5,
  failed: 4,
  oldest_seconds: 3.5,
  open_circuits: 2,
  nodes: 1,
};

/** Gauges over totals that a test gives, with a clock that it moves. */
function observed({
  read,
  ping = async () => {},
  holdsLease = () => true,
}: {
  read: () => Promise<ServiceTotals>;
  ping?: () => Promise<unknown>;
  holdsLease?: () => boolean;
}) {
  const registry = new Registry();
  const clock = { ms: 0, elapsedMs: () => clock.ms };
  let reads = 0;
  const counted = () => {
    reads += 1;
    return read();
  };
  observeService({ registry, clock, read: counted, ping, holdsLease });
  const scrape = async () => valuesOf(await registry.metrics());
  return { clock, scrape, reads: () => reads };
}

const valuesOf = (text: string): Record<string, number> =>
  Object.fromEntries([...text.matchAll(/^tidemill_(\S+) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]));

const ALL = {
  'jobs{state="waiting"}': 7,
  'jobs{state="delayed"}': 6,
  'jobs{state="pending_approval"}': 5,
  'jobs{state="failed"}': 4,
  oldest_waiting_job_seconds: 3.5,
  circuits_open: 2,
  nodes: 1,
  node_lease_held: 1,
  database_up: 1,
};

describe("gauges of the whole service", () => {
  test("gauges of the whole service are read once per scrape, and at most every 15 seconds", async () => {
    const { clock, scrape, reads } = observed({ read: async () => TOTALS });
    expect(await scrape()).toEqual(ALL);
    clock.ms = 14_999;
    expect(await scrape()).toEqual(ALL);
    expect(reads()).toBe(1);
    clock.ms = 15_000;
    await Promise.all([scrape(), scrape()]);
    expect(reads()).toBe(2);
  });

  test("gauges of the whole service take no more than a hundredth of a node's time", async () => {
    const { clock, scrape, reads } = observed({
      read: async () => {
        clock.ms += 1_000;
        return TOTALS;
      },
    });
    await scrape();
    clock.ms = 100_999;
    await scrape();
    expect(reads()).toBe(1);
    clock.ms = 101_000;
    await scrape();
    expect(reads()).toBe(2);
  });

  test("gauges of the whole service are missing while the database does not answer, and the gauge of the database says so", async () => {
    let isUp = true;
    let holds = true;
    const ask = async () => {
      if (!isUp) throw new Error("The database is unavailable.");
      return TOTALS;
    };
    const { clock, scrape } = observed({
      read: ask,
      ping: ask,
      holdsLease: () => holds,
    });
    expect(await scrape()).toEqual(ALL);
    clock.ms = 15_000;
    [isUp, holds] = [false, false];
    expect(await scrape()).toEqual({ database_up: 0, node_lease_held: 0 });
    clock.ms = 30_000;
    [isUp, holds] = [true, true];
    expect(await scrape()).toEqual(ALL);
  });

  test("gauges of the whole service have the jobs of all workspaces, folded or not, and its nodes and circuits", async ({
    service,
    engine,
  }) => {
    const [mine, stranger] = [await service.queue(), await limitedTo(service, {})];
    const before = await readServiceTotalsAcrossWorkspaces(engine);
    await stranger.ok("POST", "/v1/queues", { name: "other" });
    await stranger.ok("POST", "/v1/queues/other/jobs", { payload: 1 });
    await service.enqueue({ queue: mine });
    await service.enqueue({ queue: mine, delay: 60 });
    const { laneId, workspaceId } = await laneOf(service, mine);
    await service.database.query(
      `insert into circuit (workspace_id, lane_id, revision, probe_at, last_error) values ($1, $2, 1, now(), '{}')`,
      [workspaceId, laneId],
    );
    const expected = { waiting: before.waiting + 2, delayed: before.delayed + 1, open_circuits: before.open_circuits + 1, nodes: 1 };
    expect(await readServiceTotalsAcrossWorkspaces(engine)).toMatchObject(expected);
    await foldCountsAcrossWorkspaces(engine);
    await service.clock.advance(30);
    await engine.query(sql`update job_metric_sample set at = '-infinity', last_workspace = null, last_lane = null`);
    await new OldestSampler(engine, service.clock).pass();
    const totals = await readServiceTotalsAcrossWorkspaces(engine);
    expect(totals).toMatchObject(expected);
    expect(totals.oldest_seconds).toBeGreaterThanOrEqual(30);
  });

  test("a node shows them", async ({ service }) => {
    const { text } = await operate(service, "GET", "/metrics");
    expect(Object.keys(valuesOf(text))).toEqual(expect.arrayContaining(Object.keys(ALL)));
    expect(valuesOf(text)).toMatchObject({ nodes: 1, node_lease_held: 1, database_up: 1 });
  });
});
