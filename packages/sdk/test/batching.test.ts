import type { TidemillError } from "@tidemill/sdk";
import { describe, expect } from "vitest";
import { operate } from "../../server/test/harness/operator.ts";
import type { Service } from "../../server/test/harness/service.ts";
import { test } from "./harness/client.ts";
import { failureOf } from "./harness/failure.ts";
import type { FaultyProxy } from "./harness/faulty-proxy.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

/** How many jobs each request had. */
const sizesOf = ({ passed }: FaultyProxy): number[] => passed.map(({ body }) => (JSON.parse(body) as { jobs: unknown[] }).jobs.length);

/** Sets how many executions the workspace may use in a month. */
const allow = (service: Service, executions: number) =>
  operate(service, "PATCH", `/admin/v1/workspaces/${service.workspaceId}`, { limits: { executions_per_month: executions } });

describe("concurrent enqueue calls", () => {
  test("they leave as one batch, and each gets its own job", async ({ service, clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue<{ n: number }>(await service.queue());
    const jobs = await Promise.all(numbers(100).map((n) => queue.enqueue({ n }, { tag: `tag-${n}` })));
    expect(jobs.map(({ payload, tag }) => [payload.n, tag])).toEqual(numbers(100).map((n) => [n, `tag-${n}`]));
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(100);
    expect(proxy.lines).toEqual([`POST /v1/queues/${queue.name}/jobs/batch`]);
  });

  test("a call that comes alone is sent alone", async ({ service, clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    await queue.enqueue({});
    expect(sizesOf(proxy)).toEqual([1]);
  });

  test("calls of handles of the same queue share requests", async ({ service, clients: { proxy, tidemill } }) => {
    const name = await service.queue();
    await Promise.all(numbers(10).map((n) => tidemill.queue(name).enqueue({ n })));
    expect(proxy.passed).toHaveLength(1);
  });

  test("each queue has its own requests", async ({ service, clients: { proxy, tidemill } }) => {
    const queues = [await service.queue(), await service.queue()];
    await Promise.all(queues.flatMap((name) => [tidemill.queue(name).enqueue(1), tidemill.queue(name).enqueue(2)]));
    expect(proxy.lines.sort()).toEqual(queues.map((name) => `POST /v1/queues/${name}/jobs/batch`));
  });

  test("calls that come while requests are under way leave together", async ({ service, clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    const calls: Promise<unknown>[] = [];
    // Each of the first two requests finds ten more calls behind it.
    proxy.onRequest = async () => {
      if (calls.length < 22) for (const n of numbers(10)) calls.push(queue.enqueue(n));
    };
    calls.push(queue.enqueue("first"));
    for (let ended = 0; ended < calls.length; ) ended = (await Promise.all(calls)).length;
    expect(proxy.passed.length).toBeLessThanOrEqual(4);
    expect((await queue.jobs.list({ limit: 100 })).data).toHaveLength(calls.length);
  });

  test("more calls than a batch may have leave as several", async ({ service, clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    await Promise.all(numbers(2_100).map((n) => queue.enqueue(n)));
    expect(sizesOf(proxy)).toEqual([1_000, 1_000, 100]);
  });

  test("payloads that are too large for one batch leave as several", async ({ service, clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    const large = "€".repeat(300_000);
    await Promise.all(numbers(20).map(() => queue.enqueue(large)));
    expect(proxy.passed).toHaveLength(2);
    for (const { body } of proxy.passed) expect(Buffer.byteLength(body)).toBeLessThan(16 * 1024 * 1024);
  });

  test("calls that come one after the other each leave at once", async ({ service, clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    for (const n of numbers(3)) await queue.enqueue(n);
    expect(sizesOf(proxy)).toEqual([1, 1, 1]);
  });

  test("without batching each call has a request", async ({ service, clients }) => {
    const queue = clients.with({ batching: false }).queue(await service.queue());
    await Promise.all(numbers(5).map((n) => queue.enqueue(n)));
    expect(sizesOf(clients.proxy)).toEqual([1, 1, 1, 1, 1]);
  });

  test("a call with a timeout of its own has a request of its own", async ({ service, clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    await Promise.all([queue.enqueue(1), queue.enqueue(2), queue.enqueue(3, {}, { timeoutMs: 5_000 })]);
    expect(sizesOf(proxy).sort()).toEqual([1, 2]);
  });

  test("jobs with idempotency keys of their own do not share requests with others, which cost less", async ({
    service,
    clients: { proxy, tidemill },
  }) => {
    const queue = tidemill.queue<number>(await service.queue());
    const jobs = await Promise.all(numbers(6).map((n) => queue.enqueue(n, n % 2 === 0 ? { idempotencyKey: `job-${n}` } : {})));
    expect(jobs.map(({ payload, idempotencyKey }) => [payload, idempotencyKey])).toEqual(
      numbers(6).map((n) => [n, n % 2 === 0 ? `job-${n}` : null]),
    );
    expect(sizesOf(proxy)).toEqual([3, 3]);
    expect(proxy.passed.map(({ headers }) => "idempotency-key" in headers)).toEqual([false, true]);
  });
});

describe("a batch that is refused", () => {
  test("each call gets its own job or its own error", async ({ service, clients: { tidemill } }) => {
    const queue = tidemill.queue<number>(await service.queue());
    const settled = await Promise.allSettled(numbers(40).map((n) => queue.enqueue(n, n % 10 === 3 ? { priority: 1_000 + n } : {})));
    const refused = settled.flatMap((one, n) => (one.status === "rejected" ? [[n, one.reason as TidemillError] as const] : []));
    expect(refused.map(([n]) => n)).toEqual([3, 13, 23, 33]);
    for (const [, error] of refused) {
      expect(error).toMatchObject({ code: "VALIDATION_ERROR", status: 400, details: { issues: [{ path: "priority" }] } });
      expect(error.message).toBe("priority must be at most 100.");
    }
    expect(settled.flatMap((one) => (one.status === "fulfilled" ? [one.value.payload] : []))).toEqual(
      numbers(40).filter((n) => n % 10 !== 3),
    );
    expect((await queue.jobs.list({ limit: 100 })).data).toHaveLength(36);
  });

  test("the error of a call is the one that it would have got alone", async ({ service, clients }) => {
    const queue = await service.queue();
    await clients.tidemill.queue(queue).enqueue(1, { idempotencyKey: "known" });
    const bad = [
      { payload: 1, options: { idempotencyKey: "known", delay: 5 } },
      { payload: 1, options: { delay: -1 } },
      { payload: 1, options: { tag: "" } },
      { payload: "x".repeat(1_100_000), options: {} },
      { payload: "${{ secrets.", options: {} },
      { payload: 1, options: { colour: "red" } as object },
    ];
    const ofClient = async (call: Promise<unknown>) => {
      const { code, status, message, details } = await failureOf(call);
      return { code, status, message, details };
    };
    const expected = [];
    for (const { payload, options } of bad) {
      const { status, body } = await service.api("POST", `/v1/queues/${queue}/jobs`, { payload, ...options });
      expected.push({ status, ...body.error });
    }
    const alone = clients.with({ batching: false }).queue(queue);
    for (const [at, { payload, options }] of bad.entries()) expect(await ofClient(alone.enqueue(payload, options))).toEqual(expected[at]);
    const together = clients.tidemill.queue(queue);
    const [good, ...errors] = await Promise.all([
      together.enqueue("good"),
      ...bad.map(({ payload, options }) => ofClient(together.enqueue(payload, options))),
    ]);
    expect(errors).toEqual(expected);
    expect(good).toMatchObject({ payload: "good" });
  });

  test("a batch that is too large for a proxy leaves in halves, and only the job that is too large by itself is refused", async ({
    service,
    clients: { proxy, tidemill },
  }) => {
    proxy.faultOf = ({ body }) => (body.length > 50_000 ? { status: 413, body: "<h1>413 Request Entity Too Large</h1>" } : null);
    const queue = tidemill.queue<string>(await service.queue());
    const settled = await Promise.allSettled([20_000, 20_000, 60_000, 20_000].map((length) => queue.enqueue("x".repeat(length))));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(settled[2]).toMatchObject({ reason: { code: "UNEXPECTED_RESPONSE", status: 413 } });
  });

  test("an error about the queue is every call's own", async ({ clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue("absent");
    const errors = await Promise.all(numbers(10).map((n) => failureOf(queue.enqueue(n))));
    expect(errors.map(({ code }) => code)).toEqual(numbers(10).map(() => "NOT_FOUND"));
    expect(new Set(errors).size).toBe(10);
    expect(proxy.passed).toHaveLength(1);
  });

  test("calls use the executions that are left, and the others are refused", async ({ service, clients: { tidemill } }) => {
    await allow(service, 7);
    const queue = tidemill.queue<number>(await service.queue());
    const settled = await Promise.allSettled(numbers(20).map((n) => queue.enqueue(n)));
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(7);
    for (const one of settled)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "QUOTA_EXCEEDED", details: { limit: 7 } });
    expect((await queue.jobs.list()).data).toHaveLength(7);
  });

  test("a known job is found although no executions are left", async ({ service, clients: { tidemill } }) => {
    await allow(service, 1);
    const queue = tidemill.queue(await service.queue());
    const first = await queue.enqueue({ order: 1 }, { idempotencyKey: "order-1" });
    const [known, refused] = await Promise.all([
      queue.enqueue({ order: 1 }, { idempotencyKey: "order-1" }),
      failureOf(queue.enqueue({ order: 2 })),
    ]);
    expect(known).toMatchObject({ id: first.id, duplicate: true });
    expect(refused).toMatchObject({ code: "QUOTA_EXCEEDED" });
  });

  test("a key that is in two calls makes one job", async ({ service, clients: { tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    const [one, other] = await Promise.all([
      queue.enqueue({ order: 1 }, { idempotencyKey: "order-1" }),
      queue.enqueue({ order: 1 }, { idempotencyKey: "order-1" }),
    ]);
    expect(other.id).toBe(one.id);
    expect([one.duplicate, other.duplicate]).toEqual([undefined, true]);
  });
});

describe("a signal of one call", () => {
  test("a call that waits is not sent, and the others are", async ({ service, clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    const controller = new AbortController();
    const reason = new Error("The user left.");
    const calls = [queue.enqueue(1), queue.enqueue(2, {}, { signal: controller.signal }), queue.enqueue(3)];
    controller.abort(reason);
    expect(await failureOf(calls[1] as Promise<unknown>)).toBe(reason);
    await Promise.all([calls[0], calls[2]]);
    expect(
      proxy.passed.map(({ body }) => (JSON.parse(body) as { jobs: { payload: number }[] }).jobs.map(({ payload }) => payload)),
    ).toEqual([[1, 3]]);
  });

  test("a call that was sent ends at once, and the others get their jobs", async ({ service, clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    const controller = new AbortController();
    proxy.onRequest = async () => controller.abort(new Error("The user left."));
    const [first, error] = await Promise.all([queue.enqueue(1), failureOf(queue.enqueue(2, {}, { signal: controller.signal }))]);
    expect(first.payload).toBe(1);
    expect(error.message).toBe("The user left.");
  });
});

describe("enqueueMany", () => {
  test("it stores all jobs or none", async ({ service, clients: { tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    const error = await failureOf(queue.enqueueMany([{ payload: 1 }, { payload: 2, delay: -1 }]));
    expect(error).toMatchObject({ code: "VALIDATION_ERROR", details: { issues: [{ path: "jobs[1].delay" }] } });
    expect((await queue.jobs.list()).data).toEqual([]);
  });

  test("one job is a batch too", async ({ service, clients: { tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    expect(await queue.enqueueMany([{ payload: 1, tag: "one" }])).toMatchObject([{ payload: 1, tag: "one" }]);
    const error = await failureOf(queue.enqueueMany([{ payload: 2, delay: -1 }]));
    expect(error).toMatchObject({ details: { issues: [{ path: "jobs[0].delay" }] } });
  });

  test("no jobs are the service's to refuse", async ({ service, clients: { tidemill } }) => {
    expect(await failureOf(tidemill.queue(await service.queue()).enqueueMany([]))).toMatchObject({ code: "VALIDATION_ERROR", status: 400 });
  });
});

const circular: { self?: unknown } = {};
circular.self = circular;
const refuse = () => {
  throw new Error("Not for you.");
};

describe("a payload that is no JSON", () => {
  test.for([
    ["undefined", undefined, "payload is required."],
    ["a function", () => 1, "payload must be a JSON value."],
    ["a BigInt", 1n, "payload must be a JSON value, but it is a BigInt."],
    ["a BigInt in it", { list: [{ n: 1n }] }, "payload.list[0].n must be a JSON value, but it is a BigInt."],
    ["a circular object", { of: circular }, "payload.of.self must be a JSON value, but it is a circular reference."],
    [
      "a Map",
      { list: [{ byId: new Map() }] },
      "payload.list[0].byId must be a JSON value, but it is a Map, which would become {}. Make it an object or an array, for example by Object.fromEntries or Array.from.",
    ],
    [
      "a typed array",
      new Uint8Array(1),
      "payload must be a JSON value, but it is a typed array (Uint8Array), which would become an object of numbers. Make it a string, for example base64, or an array, or store it elsewhere and use its id or address.",
    ],
    ["what does not let itself be read", { toJSON: refuse }, "payload must be a JSON value, but it cannot be read (Not for you.)."],
  ] as const)("%s is refused before it is sent", async ([, payload, message], { clients: { proxy, tidemill } }) => {
    const error = await failureOf(tidemill.queue("emails").enqueue(payload));
    expect(error).toMatchObject({ code: "VALIDATION_ERROR", status: null, message });
    expect(proxy.passed).toEqual([]);
  });

  test("is named in other calls too", async ({ clients: { proxy, tidemill } }) => {
    const calls: [Promise<unknown>, string][] = [
      [tidemill.workflows.trigger("onboard", { input: { n: 1n } }), "input.n must be a JSON value, but it is a BigInt."],
      [tidemill.workflows.trigger("onboard", { input: circular }, {}), "input.self must be a JSON value, but it is a circular reference."],
      [
        tidemill.workflows.triggerMany("onboard", { triggers: [{ input: 1n }] }),
        "triggers[0].input must be a JSON value, but it is a BigInt.",
      ],
      [
        tidemill.workflows.trigger("onboard", { input: [Promise.resolve()] }),
        "input[0] must be a JSON value, but it is a Promise, which would become {}. Await it.",
      ],
      [
        tidemill.signals.complete("approve.1", { pattern: /a/ }),
        "pattern must be a JSON value, but it is a RegExp, which would become {}. Use its source.",
      ],
      [tidemill.events.send("user.created", { n: 1n }), "data.n must be a JSON value, but it is a BigInt."],
      [
        tidemill.queue("emails").enqueueMany([{ payload: 1, delay: 1n as never }]),
        "jobs[0].delay must be a JSON value, but it is a BigInt.",
      ],
      [tidemill.queues.update("emails", { concurrency: 1n as never }), "concurrency must be a JSON value, but it is a BigInt."],
    ];
    for (const [call, message] of calls) expect(await failureOf(call)).toMatchObject({ code: "VALIDATION_ERROR", status: null, message });
    expect(proxy.passed).toEqual([]);
  });
});

test("an error in a payload or an input is sent as its name and message, with its own members", async ({
  service,
  clients: { tidemill },
}) => {
  await service.ok("PUT", "/v1/workflows/onboard", {});
  const queue = await service.queue();
  const error = Object.assign(new RangeError("no"), { code: 7, response: new Response() });
  const sent = { error: { name: "RangeError", message: "no", code: 7 } };
  const { id } = await tidemill.queue(queue).enqueue({ error });
  expect((await service.job({ queue, id })).payload).toEqual(sent);
  const { runIds } = await tidemill.workflows.trigger("onboard", { input: { error } });
  expect((await tidemill.runs.get(runIds[0] ?? "")).input).toEqual(sent);
});

describe("concurrent triggers of a workflow", () => {
  const PATH = "/v1/workflows/onboard/trigger";
  const register = (service: Service) => service.ok("PUT", "/v1/workflows/onboard", {});

  test("leave together, and each gets its own run", async ({ service, clients: { proxy, tidemill } }) => {
    await register(service);
    const started = await Promise.all(numbers(50).map((input) => tidemill.workflows.trigger("onboard", { input })));
    expect(proxy.lines).toEqual([`POST ${PATH}/batch`]);
    expect(started.every(({ duplicate }) => !duplicate)).toBe(true);
    const runs = await Promise.all(started.map(({ runIds: [id = ""] }) => tidemill.runs.get(id)));
    expect(runs.map(({ input }) => input)).toEqual(numbers(50));
  });

  test("start no second run when their call is repeated, and one that comes alone is sent alone", async ({
    service,
    clients: { proxy, tidemill },
  }) => {
    await register(service);
    const [key, twin] = await Promise.all(["k", "k"].map((idempotencyKey) => tidemill.workflows.trigger("onboard", { idempotencyKey })));
    expect(twin?.runIds).toEqual(key?.runIds);
    expect([key?.duplicate, twin?.duplicate].sort()).toEqual([false, true]);
    await tidemill.workflows.trigger("onboard");
    expect(proxy.lines).toEqual([`POST ${PATH}/batch`, `POST ${PATH}`]);
  });

  test("have the input of the moment of the call, also one that comes alone", async ({ service, clients: { tidemill } }) => {
    await register(service);
    const input = { n: 1 };
    const started = tidemill.workflows.trigger("onboard", { input });
    input.n = 2;
    const [id = ""] = (await started).runIds;
    expect((await tidemill.runs.get(id)).input).toEqual({ n: 1 });
  });

  test("are refused one by one", async ({ service, clients: { tidemill } }) => {
    await register(service);
    await allow(service, 2);
    const outcomes = await Promise.allSettled(numbers(4).map((input) => tidemill.workflows.trigger("onboard", { input })));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
    const refused = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason as TidemillError] : []));
    expect(refused).toMatchObject(Array(2).fill({ code: "QUOTA_EXCEEDED", status: 402, details: { limit: 2 } }));
  });

  test("get the error of their workflow, and of their own fields", async ({ service, clients: { tidemill } }) => {
    const absent = numbers(2).map((input) => failureOf(tidemill.workflows.trigger("absent", { input })));
    expect(await Promise.all(absent)).toMatchObject([{ code: "NOT_FOUND" }, { code: "NOT_FOUND" }]);
    await register(service);
    const [bad, good] = await Promise.allSettled([-1, 0].map((delay) => tidemill.workflows.trigger("onboard", { delay })));
    expect(bad).toMatchObject({ status: "rejected", reason: { code: "VALIDATION_ERROR", details: { issues: [{ path: "delay" }] } } });
    expect(good).toMatchObject({ status: "fulfilled" });
  });

  test("leave one by one when batching is turned off", async ({ service, clients }) => {
    await register(service);
    const tidemill = clients.with({ batching: false });
    await Promise.all(numbers(3).map((input) => tidemill.workflows.trigger("onboard", { input })));
    expect(clients.proxy.lines).toEqual(Array(3).fill(`POST ${PATH}`));
  });
});
