import type { RouteOptions } from "fastify";
import { describe, expect } from "vitest";
import { kindsOfRoute } from "#live";
import { bareApi } from "../harness/bare-api.ts";
import { EventReader } from "../harness/event-reader.ts";
import { joinedBy, NEVER_POLL, testWith } from "../harness/nodes.ts";
import { newWorkspace, Service, startTestNode } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const READS = ["GET", "HEAD"];
const SETTINGS = { ...NEVER_POLL, TIDEMILL_DRAIN_SECONDS: "0" };

const test = testWith(SETTINGS).extend("read", async ({ service }, { onCleanup }) => {
  const readers: EventReader[] = [];
  onCleanup(() => {
    for (const reader of readers) reader.close();
  });
  return async (at: Pick<Service, "node" | "key"> = service) => {
    const reader = await EventReader.live(at);
    readers.push(reader);
    return reader;
  };
});

describe("what changes in a workspace", () => {
  test("is told of jobs: enqueued, delivered, failed and retried", async ({ service, read }) => {
    const handler = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
    const reader = await read();
    expect(reader.status).toBe(200);
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "failed");
    await reader.untilKinds("jobs", "queues");
    const before = reader.events.length;
    await service.ok("POST", `/v1/queues/${handler.queue}/retry-all`);
    await service.untilState(job, "failed");
    await reader.untilKinds("circuits");
    expect(reader.events.length).toBeGreaterThan(before);
  });

  test("is told of what comes due, of schedules and of approvals that time out", async ({ service, read }) => {
    const queue = await service.queue({ type: "approval", approval: { timeout: 60, on_timeout: "reject" } });
    await service.ok("POST", "/v1/schedules", { name: "hourly", queue, cron: "0 * * * *", timezone: "UTC" });
    const job = await service.enqueue({ queue });
    const first = await read();
    await service.advance(61);
    await service.untilState(job, "rejected");
    await first.untilKinds("approvals");
    expect([...first.kinds]).not.toContain("schedules");
    await service.advance(3_600);
    await first.untilKinds("schedules");
  });

  test("is told of runs and of the workers that execute them", async ({ service, read }) => {
    const reader = await read();
    const workflow = await putWorkflow(service);
    await workflow.trigger();
    await workflow.end(await workflow.take(), { outcome: "completed" });
    await reader.untilKinds("workflows", "runs", "workers");
  });

  test("comes from other nodes, too, also when the reader was there first", async ({ service, read }) => {
    const before = await read();
    const other = await joinedBy(service, SETTINGS);
    try {
      await other.ok("POST", "/v1/secrets", { name: "FIRST", value: "value" });
      await before.untilKinds("secrets");
      const after = await read(other);
      await service.ok("POST", "/v1/keys", { name: "one", role: "read" });
      await after.untilKinds("keys");
    } finally {
      await other.node.stop();
    }
  });

  test("is not shown to another workspace", async ({ service, read, database, clock }) => {
    const stranger = new Service(service.node, database, clock, await newWorkspace(database));
    const theirs = await read(stranger);
    const ours = await read();
    await service.ok("POST", "/v1/secrets", { name: "OURS", value: "value" });
    await ours.untilKinds("secrets");
    await stranger.queue();
    await theirs.untilKinds("queues");
    expect(theirs.kinds.has("secrets")).toBe(false);
  });

  test("is shown as long as the key is valid, and nobody else's key ends it", async ({ service, read }) => {
    const { id, key } = await service.ok("POST", "/v1/keys", { name: "reader", role: "read" });
    const revoked = await read({ node: service.node, key });
    const other = await read();
    await service.api("DELETE", `/v1/keys/${id}`);
    await revoked.untilEnded();
    expect([revoked.ended, other.ended]).toEqual(["whole", null]);
    expect((await read({ node: service.node, key })).status).toBe(401);
  });

  test("ends whole when the node stops, so that the reader connects to another one", async ({ service, read, database, clock }) => {
    const node = await startTestNode(database, clock, SETTINGS);
    const reader = await read({ node, key: service.key });
    await node.stop();
    await reader.untilEnded();
    expect(reader.ended).toBe("whole");
  });

  test("is not shown to keys of workers, and HEAD opens no stream", async ({ service }) => {
    const { key } = await service.ok("POST", "/v1/keys", { name: "worker", role: "worker" });
    const { status } = await fetch(`${service.node.url}/v1/live`, { headers: { authorization: `Bearer ${key}` } });
    expect(status).toBe(403);
    const head = await service.api("HEAD", "/v1/live");
    expect([head.status, head.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
  });
});

test("every request that changes something says what", async () => {
  const silent: string[] = [];
  const note = ({ method, url, config }: RouteOptions) => {
    for (const one of [method].flat())
      if (!READS.includes(one) && !config?.allow && url.startsWith("/v1/") && kindsOfRoute(one, url).length === 0)
        silent.push(`${one} ${url}`);
  };
  await (await bareApi(note)).close();
  // These are reported by what stores the jobs.
  expect(silent.toSorted()).toEqual(["POST /v1/queues/:name/jobs", "POST /v1/queues/:name/jobs/batch"]);
});
