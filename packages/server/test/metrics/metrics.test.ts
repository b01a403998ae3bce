import { describe, expect } from "vitest";
import { type Db, sql, toMoment } from "#kernel";
import { OldestSampler } from "../../src/jobs/sample-oldest.ts";
import { foldCountsAcrossWorkspaces } from "../../src/jobs/store/fold-counts.ts";
import { deleteOldMetricsAcrossWorkspaces } from "../../src/jobs/store/forget-metrics.ts";
import { foldRunCountsAcrossWorkspaces } from "../../src/workflows/runs/fold-run-counts.ts";
import { laneOf, test } from "../harness/engine.ts";
import { limitedTo } from "../harness/limits.ts";
import { type Service, until } from "../harness/service.ts";
import { miscountedRuns, putWorkflow } from "../harness/workflows.ts";

const NOTHING = { enqueued: 0, completed: 0, failed: 0, retried: 0, latency_ms: { p50: null, p99: null }, oldest_waiting_seconds: null };

/** The next sample begins at once, also if the node has sampled this minute, or is about to. */
const BEGIN_ANEW = sql`update job_metric_sample set at = '-infinity', last_workspace = null, last_lane = null`;

// biome-ignore lint/suspicious/noExplicitAny: a test knows which body it expects. A wrong guess fails it.
const metrics = (service: Service, query: string): Promise<any> => service.ok("GET", `/v1/metrics?${query}`);

describe("metrics", () => {
  test("metrics of a queue have what happened in each step, folded or not, and nobody else's", async ({ service, engine }) => {
    const handler = await service.handler({
      answers: [500, 200, 200],
      defaultJobOptions: { attempts: 2, backoff: { type: "exponential", delay: 1000 } },
    });
    const other = await service.queue();
    const from = service.clock.nowMs();
    await service.enqueue({ queue: handler.queue });
    await service.untilIdle();
    await service.enqueue({ queue: handler.queue });
    await service.enqueue({ queue: other });
    await until(async () => (await service.ok("GET", `/v1/queues/${handler.queue}`)).metrics.completed === 2, "both jobs to complete");
    const query = `from=${new Date(from).toISOString()}&step=60`;
    const look = async () => {
      const { data, ...of } = await metrics(service, `queue=${handler.queue}&${query}`);
      return { first: data[0], of, all: (await metrics(service, query)).data[0] };
    };
    const unfolded = await look();
    expect(unfolded).toMatchObject({
      first: { at: "2026-11-21T12:00:00.000Z", enqueued: 2, completed: 2, failed: 0, retried: 1, latency_ms: { p50: expect.any(Number) } },
      of: { queue: handler.queue, step: 60, from: "2026-11-21T12:00:00.000Z", kept_from: expect.stringMatching(/^2026-11-14/) },
      all: { enqueued: 3, completed: 2, retried: 1 },
    });
    await foldCountsAcrossWorkspaces(engine);
    expect(await look()).toEqual(unfolded);
    const stranger = await limitedTo(service, {});
    expect((await metrics(stranger, query)).data[0]).toMatchObject(NOTHING);
    expect((await stranger.api("GET", `/v1/metrics?queue=${handler.queue}`)).status).toBe(404);
  });

  test("a job that fails for good counts as failed, and its retry by hand as nothing", async ({ service }) => {
    const handler = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState({ ...job, queue: handler.queue }, "failed");
    await service.ok("POST", `/v1/queues/${handler.queue}/jobs/${job.id}/retry`);
    await until(async () => (await metrics(service, "step=3600")).data.at(-1).failed === 2, "it to fail again");
    expect((await metrics(service, "step=3600")).data.at(-1)).toMatchObject({ enqueued: 1, completed: 0, failed: 2, retried: 0 });
  });

  test("the longest waiting job is looked up once a minute, however many nodes look", async ({ service, engine }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    await service.enqueue({ queue, priority: 5 });
    await foldCountsAcrossWorkspaces(engine);
    const samplers = [1, 2, 3].map(() => new OldestSampler(engine, service.clock));
    await samplers[0]?.pass();
    await service.advance(90);
    await Promise.all(samplers.map((sampler) => sampler.pass()));
    await service.enqueue({ queue });
    // The node's own sample may be under way, and then the others do nothing.
    const newest = async () => (await metrics(service, `queue=${queue}&step=60`)).data.at(-1);
    await expect.poll(newest).toMatchObject({ oldest_waiting_seconds: 90 });
    expect((await metrics(service, "step=3600")).data.at(-1)).toMatchObject({ enqueued: 3, oldest_waiting_seconds: 90 });
  });

  test("queues are sampled some at a time, and all count for the minute in which the sample began", async ({ service, engine }) => {
    const queues = [await service.queue(), await service.queue(), await service.queue()];
    for (const queue of queues) {
      await service.enqueue({ queue });
      await service.advance(10);
    }
    const minute = new Date(Math.floor(service.clock.nowMs() / 60_000) * 60_000).toISOString();
    const passes = await engine.transaction(async (tx) => {
      // The node may be folding: a fold leaves out what another one has in hand.
      await tx.query(sql`lock table job_delta in exclusive mode`);
      await foldCountsAcrossWorkspaces(tx);
      // The node may have sampled this minute already. It samples nothing until the transaction ends, because the row is locked.
      await tx.query(BEGIN_ANEW);
      await tx.query(sql`delete from job_metric`);
      const sampler = new OldestSampler(tx, service.clock, 2);
      let passes = 1;
      for (; (await sampler.pass()) !== undefined; passes += 1) await service.clock.advance(60);
      return passes;
    });
    expect(passes).toBeGreaterThan(1);
    const oldest = async (query: string) =>
      (await metrics(service, `${query}step=60`)).data.find(({ at }: { at: string }) => at === minute).oldest_waiting_seconds;
    const seconds: number[] = await Promise.all(queues.map((queue) => oldest(`queue=${queue}&`)));
    expect(seconds.map((one) => one % 60)).toEqual([30, 20, 10]);
    expect(await oldest("")).toBe(Math.max(...seconds));
  });

  test("a sample is continued by another node only after a minute, so that none overlap", async ({ service, engine }) => {
    const queues = [await service.queue(), await service.queue(), await service.queue()];
    for (const queue of queues) await service.enqueue({ queue });
    await foldCountsAcrossWorkspaces(engine);
    const minute = toMoment(Math.floor(service.clock.nowMs() / 60_000) * 60_000);
    // Meanwhile the node samples nothing, because the row is locked.
    await engine.transaction(async (tx) => {
      await tx.query(BEGIN_ANEW);
      await tx.query(sql`delete from job_metric`);
      const beganAt = async () => (await tx.query(sql`select at from job_metric_sample`)).rows[0];
      const [first, second] = [new OldestSampler(tx, service.clock, 1), new OldestSampler(tx, service.clock, 1)];
      expect(await first.pass()).toBeDefined();
      await service.clock.advance(60);
      expect(await second.pass()).toBeUndefined();
      expect(await beganAt()).toEqual({ at: minute });
      expect(await first.pass()).toBeDefined();
      await service.clock.advance(61);
      expect(await second.pass()).toBeDefined();
      expect(await first.pass()).toBeUndefined();
      while ((await second.pass()) !== undefined) expect(await beganAt()).toEqual({ at: minute });
    });
    for (const queue of queues) {
      const { data } = await metrics(service, `queue=${queue}&step=60`);
      expect(data.find(({ at }: { at: string }) => at === minute).oldest_waiting_seconds).not.toBeNull();
    }
  });

  test("a sample whose statements take too long goes on with fewer queues at a time", async ({ service, engine }) => {
    for (let more = 0; more < 5; more += 1) await service.enqueue({ queue: await service.queue() });
    await foldCountsAcrossWorkspaces(engine);
    const limits: unknown[] = [];
    await engine.transaction(async (tx) => {
      await tx.query(BEGIN_ANEW);
      const slow: Db = {
        query: async (statement) => {
          const limit = statement.values.at(-1);
          limits.push(limit);
          if (Number(limit) > 2) throw new Error("canceling statement due to statement timeout");
          return tx.query(statement);
        },
      };
      const sampler = new OldestSampler(slow, service.clock, 8);
      await expect(sampler.pass()).rejects.toThrow("timeout");
      await expect(sampler.pass()).rejects.toThrow("timeout");
      while ((await sampler.pass()) !== undefined);
      await expect(sampler.pass()).rejects.toThrow("timeout");
    });
    expect(limits.slice(0, 5)).toEqual([8, 4, 2, 2, 2]);
    expect(limits.at(-1)).toBe(8);
  });

  test("minutes are forgotten after seven days, hours after the retention of the plan", async ({ service, engine }) => {
    const limited = await limitedTo(service, { retention_days: 7 }, "free");
    const queue = await limited.queue();
    const { id } = await limited.enqueue({ queue });
    // A job that waits is sampled every minute.
    await limited.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    await foldCountsAcrossWorkspaces(engine);
    const spans = async () =>
      (
        await service.database.query<{ span: number }>(
          "select distinct span from job_metric m join workspace w on w.id = m.workspace_id where w.plan = 'free' order by 1",
        )
      ).map(({ span }) => span);
    // The node's own loop may have begun to fold them.
    await expect.poll(spans).toEqual([60, 3600]);
    await service.clock.advance(6 * 86_400);
    await deleteOldMetricsAcrossWorkspaces(engine, 5);
    expect(await spans()).toEqual([3600]);
    await service.clock.advance(30 * 86_400);
    await deleteOldMetricsAcrossWorkspaces(engine, 5);
    expect(await spans()).toEqual([]);
  });

  test("a list of queues has the metrics and the circuit of each, if the request includes them", async ({ service }) => {
    const handler = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
    const hanging = await service.handler({ answers: "hang", callback_timeout: 900 });
    const idle = await service.queue();
    const empty = await service.queue();
    await service.enqueue({ queue: handler.queue });
    await service.enqueue({ queue: hanging.queue });
    for (const delay of [0, 0, 60]) await service.enqueue({ queue: idle, delay });
    const listed = async () => (await service.ok("GET", "/v1/queues?include=metrics")).data;
    await until(async () => (await listed()).at(-1).metrics.failed === 1 && hanging.received.length === 1, "the jobs to be where they go");
    await service.advance(5);
    const single = (name: string) => service.ok("GET", `/v1/queues/${name}`);
    expect(await listed()).toEqual([await single(empty), await single(idle), await single(hanging.queue), await single(handler.queue)]);
    expect((await listed())[1].metrics).toMatchObject({ waiting: 2, delayed: 1, active: 0, oldest_waiting_seconds: 5 });
    expect((await listed())[2].metrics).toMatchObject({ waiting: 0, active: 1 });
    expect((await service.ok("GET", "/v1/queues")).data[0]).not.toHaveProperty("metrics");
  });

  test("runs are counted by status as they are, folded or not", async ({ service, engine }) => {
    const { trigger, take, end } = await putWorkflow(service, {});
    for (let run = 0; run < 4; run += 1) await trigger();
    const [first, second] = [await take(), await take()];
    await end(first, { outcome: "completed" });
    const runs = async () => (await service.ok("GET", "/v1/status")).runs;
    expect(await runs()).toMatchObject({ pending: 2, running: 1, completed: 1 });
    expect(await miscountedRuns(service)).toEqual([]);
    await Promise.all([1, 2].map(() => foldRunCountsAcrossWorkspaces(engine)));
    await end(second, { outcome: "completed" });
    expect(await runs()).toMatchObject({ pending: 2, running: 0, completed: 2 });
    await service.database.query("delete from run where status = 'completed'");
    expect(await runs()).toMatchObject({ pending: 2, completed: 0 });
    expect(await miscountedRuns(service)).toEqual([]);
  });
});

describe("what changed", () => {
  test("a deploy is marked in the list, among the changes and in the audit log", async ({ service }) => {
    const marked = await service.ok("POST", "/v1/deploys", { name: "shop", version: "v214" });
    expect(marked).toEqual({
      id: expect.stringMatching(/^dep_/),
      name: "shop",
      version: "v214",
      actor_id: expect.stringMatching(/^key_/),
      created_at: expect.any(String),
    });
    for (let more = 0; more < 2; more += 1) await service.ok("POST", "/v1/deploys", { name: "shop", version: `v${more}` });
    const page = await service.ok("GET", "/v1/deploys?limit=2");
    expect(page.data.map(({ version }: { version: string }) => version)).toEqual(["v1", "v0"]);
    expect(await service.ok("GET", `/v1/deploys?cursor=${page.next_cursor}`)).toEqual({ data: [marked], next_cursor: null });
    expect((await service.ok("GET", `/v1/deploys?from=${new Date(service.clock.nowMs() + 1).toISOString()}`)).data).toEqual([]);
    const { data } = await service.ok("GET", "/v1/audit-events?event_type=deploy.marked");
    expect(data.at(-1)).toMatchObject({ resource_type: "deploy", resource_id: marked.id, input: { name: "shop", version: "v214" } });
    expect((await service.api("POST", "/v1/deploys", { name: "shop" })).status).toBe(400);
  });

  test("changes are deploys, pauses, settings without their values, and circuits", async ({ service }) => {
    const handler = await service.handler({ answers: 503, defaultJobOptions: { attempts: 1 } });
    const other = await service.queue();
    await service.advance(3_601);
    await service.ok("PATCH", `/v1/queues/${other}`, { concurrency: 7 });
    await service.ok("PATCH", `/v1/queues/${other}`, { paused: true });
    await service.advance(1);
    await service.ok("PATCH", `/v1/queues/${other}`, { paused: false });
    await service.ok(
      "POST",
      `/v1/queues/${handler.queue}/jobs/batch`,
      Array.from({ length: 20 }, () => ({ payload: {} })),
    );
    await until(async () => (await service.ok("GET", `/v1/queues/${handler.queue}`)).circuit.state === "open", "the circuit to open");
    expect(await service.ok("GET", "/v1/status")).toMatchObject({
      status: "degraded",
      checks: expect.arrayContaining([{ name: "circuits", status: "degraded", message: `Circuits are open: ${handler.queue}.` }]),
    });
    await service.advance(1);
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { callback_url: `${handler.url}?fixed` });
    await service.ok("POST", "/v1/deploys", { name: "shop", version: "v1" });
    const { data, truncated } = await service.ok("GET", "/v1/changes");
    const shown = data.map(({ type, name, settings }: { type: string; name: string; settings: string[] }) => [type, name, settings.join()]);
    expect(truncated).toBe(false);
    expect(shown.slice(-4)).toEqual(
      [
        ["circuit.opened", handler.queue, ""],
        ["queue.resumed", other, "paused"],
        ["queue.paused", other, "paused"],
        ["queue.updated", other, "concurrency"],
      ].sort(
        (a, b) => shown.findIndex((one: string[]) => one.join() === a.join()) - shown.findIndex((one: string[]) => one.join() === b.join()),
      ),
    );
    expect(shown.slice(0, 3)).toEqual(
      expect.arrayContaining([
        ["deploy", "shop", ""],
        ["circuit.closed", handler.queue, ""],
        ["queue.updated", handler.queue, "callback_url"],
      ]),
    );
    expect(JSON.stringify(data)).not.toContain("fixed");
    const own = await service.ok("GET", `/v1/changes?queue=${other}`);
    expect(new Set(own.data.map(({ name }: { name: string }) => name))).toEqual(new Set([other, "shop"]));
    expect((await service.api("GET", "/v1/changes?from=2026-11-21T12:00:00Z&to=2026-11-21T11:00:00Z")).status).toBe(400);
  });

  test("changes of a queue are found among those of many others, and a list that is cut says so", async ({ service }) => {
    const queue = await service.queue();
    const { workspaceId } = await laneOf(service, queue);
    await service.advance(3_601);
    await service.ok("PATCH", `/v1/queues/${queue}`, { concurrency: 7 });
    const changeAnother = (times: number) =>
      service.database.query(
        "select append_audit_event($1, gen_random_uuid(), 'queue.updated', 'system', 'queue', 'another', null, null) from generate_series(1, $2)",
        [workspaceId, times],
      );
    await changeAnother(600);
    expect(await service.ok("GET", `/v1/changes?queue=${queue}`)).toMatchObject({ data: [{ name: queue }], truncated: false });
    const all = await service.ok("GET", "/v1/changes");
    expect([all.data.length, all.truncated]).toEqual([500, true]);
    await changeAnother(3_000);
    expect(await service.ok("GET", `/v1/changes?queue=${queue}`)).toMatchObject({ data: [], truncated: true });
  });
});
