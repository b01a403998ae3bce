import { Worker, type WorkerJob } from "@tidemill/sdk";
import { describe, expect } from "vitest";
import { joinedBy } from "../../server/test/harness/nodes.ts";
import { until } from "../../server/test/harness/service.ts";
import { whileUnreadable } from "../../server/test/harness/unreadable-secrets.ts";
import { settle, take } from "../../server/test/harness/workers.ts";
import { type Fault, FaultyProxy } from "./harness/faulty-proxy.ts";
import { Log, test } from "./harness/worker.ts";
import { WorkerProcess } from "./harness/worker-process.ts";

describe("a worker that is frozen past its leases", () => {
  test("loses its jobs to others, changes nothing of them when it goes on, and takes new ones", async ({ service, onTestFinished }) => {
    const payloads = ["a", "b", "c", "d"];
    const queue = await service.queue({ defaultJobOptions: { attempts: 2, backoff: { delay: 0 } } });
    const ids = await Promise.all(payloads.map(async (payload) => (await service.enqueue({ queue, payload })).id as string));
    // It has no room for more, so that no call of it waits for jobs while it is frozen.
    const frozen = new WorkerProcess({ url: service.node.url, key: service.key, queue, concurrency: payloads.length });
    onTestFinished(() => frozen.kill());
    await until(() => frozen.seen("started").length === payloads.length, "the worker to start its jobs");

    frozen.signal("SIGSTOP");
    await service.advance(31);
    for (const id of ids) await service.untilState({ queue, id }, "delayed");
    await service.advance(60);
    const others = await take(service, queue, { worker: "other", limit: 10, lease: 600 });
    expect(others.map(({ id, attempt }) => `${id} ${attempt}`).toSorted()).toEqual(ids.map((id) => `${id} 2`).toSorted());

    // Two handlers have ended when it goes on; the others learn that their leases are lost.
    frozen.endHandlers(["a", "b"]);
    frozen.signal("SIGCONT");
    const firstAttempts = ids.map((id) => `${id} 1`);
    await until(() => frozen.seen("aborted").length === 2, "the signals of the others to be aborted");
    const isLate = ({ message }: { message?: string }) => message === "The outcome of a job came too late.";
    await until(() => frozen.lines.filter(isLate).length === 2, "the late outcomes to be refused");
    expect(frozen.seen("ended").toSorted()).toEqual(firstAttempts.slice(0, 2).toSorted());
    expect(frozen.lines.flatMap(({ event, why }) => (event === "aborted" ? [why] : []))).toEqual(["lease_lost", "lease_lost"]);
    for (const id of ids) expect(await service.job({ queue, id })).toMatchObject({ state: "active", attempt: 2, result: null });

    for (const job of others) expect(await settle(service, job, { outcome: "completed", result: "other" })).toMatchObject({ ok: true });
    const next = await service.enqueue({ queue, payload: "e" });
    await until(() => frozen.seen("started").includes(`${next.id} 1`), "the worker to take a new job");
    frozen.endHandlers(["e"]);
    await service.untilState({ queue, id: next.id }, "completed");
    for (const id of ids) {
      expect(await service.job({ queue, id })).toMatchObject({
        state: "completed",
        result: "other",
        attempts_log: [
          { attempt: 1, outcome: "failed", error: { code: "LEASE_EXPIRED" }, worker: "frozen" },
          { attempt: 2, outcome: "completed", worker: "other" },
        ],
      });
    }
    expect((await service.ok("GET", `/v1/queues/${queue}`)).metrics).toMatchObject({ completed: 5, active: 0, failed: 0 });
    expect((await service.ok("GET", "/v1/usage")).attempts).toMatchObject({ succeeded: 5, failed: 4 });
  });
});

describe("a worker whose connection is cut in the middle of a settle", () => {
  test.for<[Fault, string]>([
    ["cut before", "before the service has anything of it"],
    ["cut within", "before the service has read it whole"],
    ["cut after", "after the service has carried it out and before the worker has the response"],
  ])("%s: repeats its call; no outcome is lost, and no job runs again", async ([fault], { service, clients, onTestFinished }) => {
    const COUNT = 30;
    const queue = await service.queue();
    const ids = await Promise.all(
      Array.from({ length: COUNT }, async (_, n) => (await service.enqueue({ queue, payload: n })).id as string),
    );
    // Each call with outcomes is cut once.
    const cut = new Set<string>();
    clients.proxy.faultOf = ({ body }) => {
      const settles = ((JSON.parse(body) as { settle?: unknown[] }).settle ?? []).length > 0;
      return settles && !cut.has(body) && cut.add(body) ? fault : null;
    };
    const runs: string[] = [];
    const run = ({ id, payload }: WorkerJob<number>) => {
      runs.push(id);
      return payload * 2;
    };
    const logged: string[] = [];
    const log = (message: string) => void logged.push(message);
    const worker = new Worker({
      url: clients.proxy.url,
      key: service.key,
      queues: { [queue]: run },
      concurrency: 5,
      signals: [],
      logger: { debug: log, info: log, warn: log, error: log },
    });
    const done = worker.run();
    onTestFinished(() => worker.stop());
    await until(async () => (await service.ok("GET", `/v1/queues/${queue}`)).metrics.completed === COUNT, "all jobs to be completed");
    await worker.stop();
    await done;
    expect(cut.size).toBeGreaterThan(0);
    expect(runs.toSorted()).toEqual(ids.toSorted());
    for (const [n, id] of ids.entries()) {
      const { state, result, attempts_log } = await service.job({ queue, id });
      expect([state, result]).toEqual(["completed", n * 2]);
      expect(attempts_log.filter(({ outcome }: { outcome: string }) => outcome !== "released")).toMatchObject([{ outcome: "completed" }]);
    }
    expect(new Set(logged)).toEqual(new Set(["A call of the worker failed. It is tried again.", "The worker stops."]));
  });
});

describe("a worker whose report reaches a node that cannot read the secrets of a job", () => {
  test("repeats it by itself, also while it stops, and others are stored meanwhile", async ({ service, worker, onTestFinished }) => {
    const value = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
    await service.ok("POST", "/v1/secrets", { name: "STRIPE_KEY", value });
    const other = await joinedBy(service);
    let node = service;
    const proxy = await FaultyProxy.to(() => node.node.url);
    onTestFinished(async () => {
      await proxy.close();
      await other.node.stop();
    });
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, payload: "${{ secrets.STRIPE_KEY }}" });
    const { id: plainId } = await service.enqueue({ queue, payload: "none" });
    const taken = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    let count = 0;
    const handler = async ({ payload }: WorkerJob<string>) => {
      count += 1;
      if (count === 2) taken.resolve();
      await end.promise;
      return payload;
    };
    const one = worker({ [queue]: handler }, { url: proxy.url, concurrency: 2 });
    await taken.promise;
    await whileUnreadable(service, async () => {
      node = other;
      end.resolve();
      await service.untilState({ queue, id: plainId }, "completed");
      void one.stop();
      const settles = () => proxy.passed.filter(({ body }) => body.includes(`"${id}"`));
      await until(() => settles().length === 3, "the outcome to be reported three times");
      expect(await service.job({ queue, id })).toMatchObject({ state: "active" });
    });
    await one.done;
    expect(await service.job({ queue, id })).toMatchObject({ state: "completed", attempt: 1, result: "[secret:STRIPE_KEY]" });
  });
});

describe("a worker whose connection goes silent", () => {
  test("repeats its report after a third of a lease, while the lease holds", async ({ service, clients: { proxy }, worker }) => {
    const queue = await service.queue();
    const settles = () => proxy.passed.filter(({ body }) => body.includes('"settle"'));
    proxy.faultOf = ({ body }) => (body.includes('"settle"') && settles().length === 1 ? "hang" : null);
    const log = new Log();
    worker({ [queue]: () => "done" }, { url: proxy.url, leaseSeconds: 15, logger: log });
    const { id } = await service.enqueue({ queue });
    await service.untilState({ queue, id }, "completed");
    expect(settles()).toHaveLength(2);
    expect(log.lines.map(({ fields }) => fields.error)).toEqual([`No response from ${proxy.url} in 5000 ms.`]);
    expect(await service.job({ queue, id })).toMatchObject({ result: "done", attempts_log: [{ attempt: 1, outcome: "completed" }] });
  });
});

describe("a worker behind a proxy that takes only small requests", () => {
  test("reports outcomes in halves, and one that is too large without its result", async ({ service, clients: { proxy }, worker }) => {
    const LIMIT = 50_000;
    proxy.faultOf = ({ body }) => (body.length > LIMIT ? { status: 413, body: "<h1>413 Request Entity Too Large</h1>" } : null);
    const queue = await service.queue();
    const sizes = [20_000, 20_000, 20_000, 60_000];
    const ids: string[] = [];
    for (const payload of sizes) ids.push((await service.enqueue({ queue, payload })).id);
    const all = Promise.withResolvers<void>();
    let started = 0;
    const handler = async ({ payload }: WorkerJob<number>) => {
      started += 1;
      if (started === sizes.length) all.resolve();
      await all.promise;
      return "x".repeat(payload);
    };
    worker({ [queue]: handler }, { url: proxy.url, concurrency: sizes.length });
    for (const id of ids) await service.untilState({ queue, id }, "completed");
    const lengths = await Promise.all(ids.map(async (id) => (await service.job({ queue, id })).result?.length ?? null));
    expect(lengths).toEqual([20_000, 20_000, 20_000, null]);
  });
});
