import { Tidemill } from "@tidemill/sdk";
import { expect } from "vitest";
import { ask, postmasterOf } from "../../server/test/harness/cluster.ts";
import { KEY } from "../../server/test/harness/process.ts";
import { until } from "../../server/test/harness/service.ts";
import { test } from "../../server/test/harness/stage.ts";
import { FaultyProxy } from "./harness/faulty-proxy.ts";

const CALLERS = 16;
const JOBS_EACH = 150;
const ALL = CALLERS * JOBS_EACH;

/** Callers that enqueue one job after the other. No call may fail. */
class Callers {
  readonly ids: string[] = [];
  readonly done: Promise<unknown>;

  constructor(url: string, queue: string) {
    const handle = new Tidemill({ url, key: KEY, timeoutMs: 5_000 }).queue(queue);
    const call = async (caller: number) => {
      for (let n = 0; n < JOBS_EACH; n += 1) this.ids.push((await handle.enqueue(`${caller}-${n}`)).id);
    };
    this.done = Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(caller)));
  }
}

/** Each call has a job of its own, and there are no others. */
async function expectOneJobEach(dataDir: string, { ids }: Callers): Promise<void> {
  expect(new Set(ids).size).toBe(ALL);
  const [stored] = await ask<{ jobs: string; payloads: string }>(
    dataDir,
    "select count(*) as jobs, count(distinct payload) as payloads from job_record",
  );
  expect(stored).toEqual({ jobs: String(ALL), payloads: String(ALL) });
}

test("each call has one job when nodes are killed while callers enqueue", async ({ stage, onTestFinished }) => {
  const dataDir = stage.migratedDataDir();
  const settings = { TIDEMILL_DATA_DIR: dataDir, TIDEMILL_NODE_LEASE_SECONDS: "2" };
  let node = await stage.node(settings);
  await node.client.ok("POST", "/v1/queues", { name: "called" });
  // The address stays, whichever node serves.
  const proxy = await FaultyProxy.to(() => node.url);
  onTestFinished(() => proxy.close());
  const callers = new Callers(proxy.url, "called");
  for (const round of [1, 2]) {
    await until(() => callers.ids.length >= (round * ALL) / 3, "some jobs to be enqueued");
    await node.kill();
    node = await stage.node(settings);
  }
  await callers.done;
  await expectOneJobEach(dataDir, callers);
});

test("each call has one job when PostgreSQL is killed while callers enqueue", async ({ stage }) => {
  const dataDir = stage.migratedDataDir();
  const node = await stage.node({ TIDEMILL_DATA_DIR: dataDir, TIDEMILL_NODE_LEASE_SECONDS: "3" });
  await node.client.ok("POST", "/v1/queues", { name: "called" });
  const callers = new Callers(node.url, "called");
  for (const round of [1, 2]) {
    await until(() => callers.ids.length >= (round * ALL) / 3, "some jobs to be enqueued");
    const killed = postmasterOf(dataDir) as number;
    process.kill(killed, "SIGKILL");
    await until(async () => postmasterOf(dataDir) !== killed && (await node.client.status("/readyz")) === 200, "PostgreSQL to be back");
  }
  await callers.done;
  await expectOneJobEach(dataDir, callers);
});

test("each call has one job when responses are lost", async ({ stage, onTestFinished }) => {
  const dataDir = stage.migratedDataDir();
  const node = await stage.node({ TIDEMILL_DATA_DIR: dataDir });
  await node.client.ok("POST", "/v1/queues", { name: "called" });
  const proxy = await FaultyProxy.to(() => node.url);
  onTestFinished(() => proxy.close());
  proxy.faults = Array.from({ length: 40 }, (_, n) => (n % 4 === 0 ? "cut after" : n % 4 === 1 ? "cut before" : null));
  const callers = new Callers(proxy.url, "called");
  await callers.done;
  expect(proxy.faults).toEqual([]);
  await expectOneJobEach(dataDir, callers);
});
