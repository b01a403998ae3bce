import { Tidemill, Worker, type WorkerJob } from "@tidemill/sdk";
import { describe, expect } from "vitest";
import { until } from "../../server/test/harness/service.ts";
import { take } from "../../server/test/harness/workers.ts";
import { onSignals } from "../src/worker/signals.ts";
import type { Passed } from "./harness/faulty-proxy.ts";
import { Log, test } from "./harness/worker.ts";
import { WorkerProcess } from "./harness/worker-process.ts";

describe("a worker that stops while the service is away", () => {
  test("gives up what it could not report when its time is over, and says how much", async ({ service, clients: { proxy }, worker }) => {
    const queue = await service.queue();
    const started = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const log = new Log();
    const handler = async () => {
      started.resolve();
      await goOn.promise;
    };
    const one = worker({ [queue]: handler }, { url: proxy.url, stopTimeoutMs: 300, logger: log });
    const { id } = await service.enqueue({ queue });
    await started.promise;
    proxy.faultOf = () => "cut before";
    goOn.resolve();
    await one.stop();
    await one.done;
    expect(log.lines).toContainEqual({
      level: "warn",
      message: "The worker ends without having reported jobs or runs. Their leases end.",
      fields: { worker: one.name, count: 1 },
    });
    expect(await service.job({ queue, id })).toMatchObject({ state: "active" });
  });

  test.for([
    ["", "a"],
    [", also if its handler does not end", "deaf"],
  ])("ends its process at once at a second signal%s", async ([, payload], { service, clients: { proxy }, onTestFinished }) => {
    const queue = await service.queue();
    const process = new WorkerProcess({ url: proxy.url, key: service.key, queue, concurrency: 1 });
    onTestFinished(() => process.kill());
    await service.enqueue({ queue, payload });
    await until(() => process.seen("started").length === 1, "the worker to start its job");
    proxy.faultOf = () => "hang";
    process.signal("SIGTERM");
    await until(() => process.lines.some(({ message }) => message === "The worker stops."), "the worker to begin its stop");
    await until(() => {
      process.signal("SIGTERM");
      return process.hasEnded;
    }, "the worker to end");
    const last = "The worker ends without having reported jobs or runs. Their leases end.";
    await until(() => process.lines.at(-1)?.message === last, "its last line");
  });
});

describe("signals", () => {
  test("that come together count once, and a program that listens to them decides when it ends", ({ onTestFinished }) => {
    const seen: string[] = [];
    const ofProgram = () => void seen.push("program");
    process.on("SIGUSR2", ofProgram);
    onTestFinished(() => void process.off("SIGUSR2", ofProgram));
    let nowMs = 0;
    const listeners = { first: () => void seen.push("first"), second: () => void seen.push("second") };
    onTestFinished(onSignals(["SIGUSR2"], listeners, () => nowMs));
    process.emit("SIGUSR2", "SIGUSR2");
    nowMs += 5;
    process.emit("SIGUSR2", "SIGUSR2");
    expect(seen).toEqual(["program", "first", "program"]);
    nowMs += 1_000;
    process.emit("SIGUSR2", "SIGUSR2");
    expect(seen.slice(3)).toEqual(["program", "second"]);
  });
});

describe("a worker that stops", () => {
  test("releases what a call brings that was under way, without an attempt", async ({ service, worker }) => {
    const queue = await service.queue();
    const handled: string[] = [];
    const stopping: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (String(init?.body).includes('"settle"')) void one.stop();
      return response;
    };
    await service.enqueue({ queue, payload: "a" });
    const { id } = await service.enqueue({ queue, payload: "b", attempts: 1 });
    const one = worker({ [queue]: ({ payload }: WorkerJob<string>) => void handled.push(payload) }, { concurrency: 1, fetch: stopping });
    await one.done;
    expect(handled).toEqual(["a"]);
    expect(await service.job({ queue, id })).toMatchObject({ state: "waiting", last_error: null });
  });

  test("takes no job with it by a call that waits", async ({ service, clients: { proxy }, worker }) => {
    const queue = await service.queue();
    const one = worker({ [queue]: () => {} }, { url: proxy.url });
    const waits = ({ path, body }: Passed) => path === "/v1/work" && (JSON.parse(body) as { wait?: number }).wait !== undefined;
    await until(() => proxy.passed.some(waits), "the worker to wait");
    await one.stop();
    await one.done;
    const { id } = await service.enqueue({ queue, attempts: 1 });
    // The node may see the end of the call only after it has taken the job for it: then it releases the job, and no attempt is used.
    expect(await take(service, queue, { worker: "other", wait: 10 })).toMatchObject([{ id }]);
  });

  test("before it runs does not run", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    const one = new Worker({ url: service.node.url, key: service.key, queues: { [queue]: () => {} }, signals: [], logger: new Log() });
    await one.stop();
    await one.run();
    const client = new Tidemill({ url: service.node.url, key: service.key });
    expect(await client.queue(queue).jobs.get(id)).toMatchObject({ state: "waiting" });
  });
});
