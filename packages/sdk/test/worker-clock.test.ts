import type { WorkerJob, WorkerOptions } from "@tidemill/sdk";
import { describe, expect } from "vitest";
import { LONG_NODE_LEASE } from "../../server/test/harness/nodes.ts";
import { type Service, startTestNode, until } from "../../server/test/harness/service.ts";
import { untilWaiting } from "../../server/test/harness/workers.ts";
import { WorkerCalls } from "../src/worker/calls.ts";
import { readWorkerOptions } from "../src/worker/options.ts";
import { WorkLoop } from "../src/worker/work-loop.ts";
import type { FaultyProxy } from "./harness/faulty-proxy.ts";
import { test as base, Log } from "./harness/worker.ts";

/** Starts what a worker does until it stops, with a clock that a test moves on. */
const test = base
  .extend("node", { scope: "file" }, async ({ database, clock }, { onCleanup }) => {
    const node = await startTestNode(database, clock, LONG_NODE_LEASE);
    onCleanup(() => node.stop());
    return node;
  })
  .extend("ahead", () => ({ ms: 0 }))
  .extend("loop", async ({ service, ahead }, { onCleanup }) => {
    const started: WorkLoop[] = [];
    onCleanup(async () => {
      for (const loop of started) {
        loop.stop();
        await loop.ended.catch(() => {});
        loop.close();
      }
    });
    return (queues: NonNullable<WorkerOptions["queues"]>, options: Partial<WorkerOptions> = {}): WorkLoop => {
      const read = readWorkerOptions({ url: service.node.url, key: service.key, queues, logger: new Log(), ...options });
      const settings = { ...read, elapsedMs: () => read.elapsedMs() + ahead.ms };
      const loop = new WorkLoop(settings, new WorkerCalls(settings));
      started.push(loop);
      loop.start();
      return loop;
    };
  });

/** Responses as an older service makes them. */
const withoutWaited: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const { waited_ms: _waited, ...rest } = (await response.json()) as Record<string, unknown>;
  return Response.json(rest, { status: response.status });
};

const untilAborted = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));

/** A handler that ends when its signal is aborted, and says why it was. */
function heldJob() {
  const [started, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()];
  const handler = async ({ signal }: WorkerJob) => {
    started.resolve();
    aborted.resolve(await untilAborted(signal));
  };
  return { handler, started, aborted };
}

describe("a worker that cannot reach the service", () => {
  test("aborts the signal of a job when its lease has ended by the worker's own clock", async ({ service, clients: { proxy }, worker }) => {
    const queue = await service.queue();
    const { handler, started, aborted } = heldJob();
    const log = new Log();
    worker({ [queue]: handler }, { url: proxy.url, leaseSeconds: 2, stopTimeoutMs: 100, logger: log });
    await service.enqueue({ queue });
    await started.promise;
    proxy.faultOf = () => "cut before";
    expect(await aborted.promise).toMatchObject({ name: "JobAbortedError", why: "lease_lost" });
    expect(log.lines.map(({ message }) => message)).toContain(
      "The lease on a job ended: the service could not be reached in time to extend it.",
    );
  });

  test("says so if its process did nothing for so long that the lease has ended", async ({ service, clients: { proxy }, ahead, loop }) => {
    const queue = await service.queue();
    const { handler, started, aborted } = heldJob();
    const log = new Log();
    loop({ [queue]: handler }, { url: proxy.url, leaseSeconds: 2, stopTimeoutMs: 100, logger: log });
    await service.enqueue({ queue });
    await started.promise;
    proxy.faultOf = () => "cut before";
    ahead.ms += 3_600_000;
    await aborted.promise;
    expect(log.lines.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(
        /^The lease on a job ended: this process did nothing for 360\d s, because its event loop was blocked or it was stopped\.$/,
      ),
    );
  });

  test("goes on with a job whose lease it extends in time", async ({ service, worker }) => {
    const queue = await service.queue();
    let calls = 0;
    const counting: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (String(input).endsWith("/extend")) calls += 1;
      return response;
    };
    const goOn = Promise.withResolvers<void>();
    const handler = async ({ signal }: WorkerJob) => {
      await goOn.promise;
      return signal.aborted;
    };
    worker({ [queue]: handler }, { fetch: counting, leaseSeconds: 5 });
    const { id } = await service.enqueue({ queue });
    await until(() => calls >= 6, "the lease to be extended for longer than it was given for");
    goOn.resolve();
    await service.untilState({ queue, id }, "completed");
    expect(await service.job({ queue, id })).toMatchObject({ result: false });
  });
});

describe("a response that comes when its leases have ended", () => {
  test("is not acted on", async ({ service, ahead, loop }) => {
    const queue = await service.queue();
    const attempts: number[] = [];
    const slow: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (ahead.ms === 0 && (await response.clone().text()).includes(id)) {
        await service.advance(60);
        await service.untilState({ queue, id }, "delayed");
        ahead.ms = 60_000;
      }
      return response;
    };
    const { id } = await service.enqueue({ queue });
    loop({ [queue]: ({ attempt }: WorkerJob) => void attempts.push(attempt) }, { fetch: slow });
    await until(() => ahead.ms > 0, "the worker to get the job");
    await service.advance(60);
    await service.untilState({ queue, id }, "completed");
    expect(attempts).toEqual([2]);
  });

  test("is acted on if the leases could be extended", async ({ service, ahead, loop }) => {
    const queue = await service.queue();
    const slow: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if ((await response.clone().text()).includes(id)) ahead.ms = 60_000;
      return response;
    };
    const { id } = await service.enqueue({ queue });
    loop({ [queue]: ({ attempt, signal }: WorkerJob) => ({ attempt, aborted: signal.aborted }) }, { fetch: slow });
    await service.untilState({ queue, id }, "completed");
    expect(await service.job({ queue, id })).toMatchObject({ result: { attempt: 1, aborted: false } });
  });
});

describe("a job that comes at the end of a long wait", () => {
  /** Lets time pass while a worker waits, for it and for the service. */
  const waitLong = async (service: Service, queue: string, ahead: { ms: number }, seconds: number) => {
    await untilWaiting(service, queue);
    service.clock.pass(seconds);
    ahead.ms += seconds * 1_000;
  };

  test("is executed at once: its lease counts from when it was taken", async ({ service, ahead, loop, clients: { proxy } }) => {
    const queue = await service.queue();
    loop({ [queue]: ({ signal }: WorkerJob) => signal.aborted }, { url: proxy.url });
    await waitLong(service, queue, ahead, 29);
    const { id } = await service.enqueue({ queue });
    await service.untilState({ queue, id }, "completed");
    expect(await service.job({ queue, id })).toMatchObject({ result: false, attempts_log: [{ attempt: 1, outcome: "completed" }] });
    expect(proxy.lines).not.toContain("POST /v1/work/extend");
  });

  test("is executed when its lease is extended, if an older service does not say when it was taken", async ({
    service,
    ahead,
    loop,
    clients: { proxy },
  }) => {
    const queue = await service.queue();
    loop({ [queue]: () => {} }, { url: proxy.url, fetch: withoutWaited });
    await waitLong(service, queue, ahead, 29);
    const { id } = await service.enqueue({ queue });
    await service.untilState({ queue, id }, "completed");
    const settles = proxy.passed.findIndex(({ body }) => body.includes("lease_token") && body.includes("settle"));
    expect(proxy.lines.slice(0, settles)).toContain("POST /v1/work/extend");
  });

  test("is not executed when its lease has ended before the response came", async ({ service, ahead, loop }) => {
    const queue = await service.queue();
    const attempts: number[] = [];
    const late: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const isFirst = ahead.ms < 40_000 && (await response.clone().text()).includes(`"attempt":1`);
      if (isFirst) {
        await service.advance(31);
        await service.untilState({ queue, id }, "delayed");
        // 31 s after the claim, and 51 s after the call.
        ahead.ms += 31_000;
      }
      return response;
    };
    loop({ [queue]: ({ attempt }: WorkerJob) => void attempts.push(attempt) }, { fetch: late });
    await waitLong(service, queue, ahead, 20);
    const { id } = await service.enqueue({ queue });
    await until(() => ahead.ms > 40_000, "the worker to get the job");
    await service.advance(60);
    await service.untilState({ queue, id }, "completed");
    expect(attempts).toEqual([2]);
  });

  test("is not executed when the machine was suspended until its lease had ended", async ({ service, loop }) => {
    const queue = await service.queue();
    const attempts: number[] = [];
    let isResumed = false;
    const suspended: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!isResumed && (await response.clone().text()).includes(`"attempt":1`)) {
        await service.advance(31);
        await service.untilState({ queue, id }, "delayed");
        isResumed = true;
      }
      return response;
    };
    loop({ [queue]: ({ attempt }: WorkerJob) => void attempts.push(attempt) }, { fetch: suspended });
    // Time passes for the service only: the clock of the worker is stopped.
    await waitLong(service, queue, { ms: 0 }, 20);
    const { id } = await service.enqueue({ queue });
    await until(() => isResumed, "the worker to get the job");
    await service.advance(60);
    await service.untilState({ queue, id }, "completed");
    expect(attempts).toEqual([2]);
  });

  test("counts from the first try of a call that is repeated", async ({ service, ahead, loop, clients: { proxy } }) => {
    const queue = await service.queue();
    proxy.faults = ["cut after"];
    loop({ [queue]: () => {} }, { url: proxy.url });
    await waitLong(service, queue, ahead, 29);
    const { id } = await service.enqueue({ queue });
    await service.untilState({ queue, id }, "completed");
    expect(await service.job({ queue, id })).toMatchObject({ attempts_log: [{ attempt: 1, outcome: "completed" }] });
    expect(proxy.lines.slice(0, 3)).toEqual(["POST /v1/work", "POST /v1/work", "POST /v1/work/extend"]);
  });
});

describe("a worker waits for jobs", () => {
  const waitsOf = ({ passed }: FaultyProxy) =>
    passed.flatMap(({ path, body }) => (path === "/v1/work" ? ((JSON.parse(body) as { wait?: number }).wait ?? []) : []));

  test.for([
    ["for 28 s, whatever its leases are, once the service has said when it took jobs", fetch, 28],
    ["for half of its leases while an older service does not", withoutWaited, 5],
  ] as const)("%s", async ([, fetch, next], { service, loop, clients: { proxy } }) => {
    const queue = await service.queue();
    loop({ [queue]: () => {} }, { url: proxy.url, fetch, leaseSeconds: 10 });
    for (let calls = 1; calls <= 2; calls += 1) {
      const { id } = await service.enqueue({ queue });
      await service.untilState({ queue, id }, "completed");
    }
    await until(() => waitsOf(proxy).length >= 3, "the worker to wait again");
    expect(waitsOf(proxy).slice(0, 3)).toEqual([5, next, next]);
  });
});

describe("a worker whose queue was deleted", () => {
  test("serves it again, 30 s after it was refused, if it was created anew", async ({ service, ahead, loop }) => {
    const [queue, deleted] = [await service.queue(), await service.queue()];
    const log = new Log();
    loop({ [queue]: () => {}, [deleted]: () => {} }, { logger: log });
    const complete = async (name: string) => {
      const { id } = await service.enqueue({ queue: name });
      await service.untilState({ queue: name, id }, "completed");
    };
    await complete(deleted);
    await service.ok("DELETE", `/v1/queues/${deleted}`);
    await until(() => log.lines.length === 1, "the queue to be refused");
    await service.ok("POST", "/v1/queues", { name: deleted });
    ahead.ms = 31_000;
    // The call that waits for jobs of the other queue ends.
    await complete(queue);
    await complete(deleted);
    expect(log.lines.map(({ level, fields }) => [level, fields.queue])).toEqual([
      ["warn", deleted],
      ["info", deleted],
    ]);
  });
});

describe("a worker at whose address something else responds", () => {
  test("ends with what came after a minute", async ({ ahead, loop, clients: { proxy } }) => {
    proxy.faultOf = () => ({ status: 404, body: "Not here." });
    const log = new Log();
    const { ended } = loop({ emails: () => {} }, { url: proxy.url, logger: log });
    ended.catch(() => {});
    await until(() => log.lines.length === 1, "the response to be logged");
    ahead.ms += 61_000;
    await expect(ended).rejects.toMatchObject({
      code: "UNEXPECTED_RESPONSE",
      message: expect.stringContaining('status 404 with "Not here."'),
    });
    expect(log.lines).toHaveLength(1);
  });

  test("tries again for a minute after the first response, however long there was none before", async ({
    ahead,
    loop,
    service,
    clients: { proxy },
  }) => {
    proxy.faultOf = () => "cut before";
    const log = new Log();
    const queue = await service.queue();
    const done = Promise.withResolvers<void>();
    loop({ [queue]: () => done.resolve() }, { url: proxy.url, logger: log });
    await until(() => log.lines.length === 1, "the first failure to be logged");
    ahead.ms += 61_000;
    proxy.faultOf = () => ({ status: 404, body: "Not here." });
    await until(() => log.lines.length === 2, "the response to be logged");
    proxy.faultOf = () => null;
    await service.enqueue({ queue });
    await done.promise;
  });
});

describe("a worker whose key is refused", () => {
  const refused = "The service refuses the key. A worker ends if this lasts for a minute.";

  test.for([
    ["while it waits for jobs", false],
    ["while it executes a job and has no room for others", true],
  ] as const)("since it was revoked %s, ends with the error after a minute", async ([, executes], { service, ahead, loop }) => {
    const queue = await service.queue();
    const { id: keyId, key } = await service.ok("POST", "/v1/keys", { name: "worker", role: "worker" });
    const log = new Log();
    const started = Promise.withResolvers<AbortSignal>();
    const handler = ({ signal }: WorkerJob) => {
      started.resolve(signal);
      return executes ? untilAborted(signal) : null;
    };
    const { ended } = loop({ [queue]: handler }, { key, logger: log, concurrency: 1 });
    const failure = ended.then(
      () => null,
      (error: unknown) => error,
    );
    const { id } = await service.enqueue({ queue });
    const signal = await started.promise;
    if (!executes) await service.untilState({ queue, id }, "completed");
    await service.ok("DELETE", `/v1/keys/${keyId}`);
    await until(() => log.lines.length > 0, "the key to be refused");
    expect(log.lines).toMatchObject([{ level: "error", message: refused, fields: { code: "UNAUTHORIZED" } }]);
    ahead.ms += 61_000;
    expect(await failure).toMatchObject({ code: "UNAUTHORIZED" });
    expect(signal.aborted).toBe(executes);
  });

  test("once, goes on when it is accepted again", async ({ service, loop, clients: { proxy } }) => {
    const queue = await service.queue();
    const log = new Log();
    const body = JSON.stringify({ error: { code: "UNAUTHORIZED", message: "Who are you?", details: {} } });
    loop({ [queue]: () => {} }, { url: proxy.url, logger: log });
    const complete = async () => {
      const { id } = await service.enqueue({ queue });
      await service.untilState({ queue, id }, "completed");
    };
    await complete();
    for (const times of [1, 2]) {
      proxy.faults = [{ status: 401, body }];
      await complete();
      await complete();
      expect(log.lines.map(({ message }) => message)).toEqual(Array.from({ length: times }, () => refused));
    }
  });

  test("once before and once after the service is away for minutes, goes on: it was not refused for a minute", async ({
    service,
    ahead,
    loop,
  }) => {
    const queue = await service.queue();
    const log = new Log();
    const faults: (() => Response)[] = [];
    const refuse = () => Response.json({ error: { code: "UNAUTHORIZED", message: "Who are you?", details: {} } }, { status: 401 });
    const beAway = () => {
      ahead.ms += 121_000;
      throw new TypeError("fetch failed");
    };
    const faulty: typeof fetch = async (input, init) => faults.shift()?.() ?? (await fetch(input, init));
    loop({ [queue]: () => {} }, { fetch: faulty, logger: log });
    const complete = async () => {
      const { id } = await service.enqueue({ queue });
      await service.untilState({ queue, id }, "completed");
    };
    await complete();
    faults.push(refuse, beAway, refuse);
    await complete();
    await complete();
    expect(faults).toEqual([]);
    expect(log.lines.map(({ message }) => message)).toEqual([refused, refused]);
  });
});
