import { once } from "node:events";
import { createServer } from "node:net";
import { Tidemill, TidemillError } from "@tidemill/sdk";
import { describe, expect } from "vitest";
import { test } from "./harness/client.ts";
import { failureOf } from "./harness/failure.ts";

describe("a request that got no response", () => {
  test("a read is sent again", async ({ clients: { proxy, tidemill } }) => {
    proxy.faults = ["cut before", { status: 503, headers: { "retry-after": "0" } }];
    await expect(tidemill.status()).resolves.toMatchObject({ status: "ok" });
    expect(proxy.lines).toEqual(["GET /v1/status", "GET /v1/status", "GET /v1/status"]);
  });

  test("an enqueue that was stored is sent again and stored once", async ({ service, clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue(await service.queue());
    proxy.faults = ["cut after"];
    const job = await queue.enqueue({ n: 1 });
    const { data } = await queue.jobs.list();
    expect(data.map(({ id }) => id)).toEqual([job.id]);
    expect(proxy.passed).toHaveLength(3);
  });

  test("the caller does not see that its job was stored by an earlier try", async ({ service, clients: { proxy, tidemill } }) => {
    proxy.faults = ["cut after"];
    expect(await tidemill.queue(await service.queue()).enqueue({})).not.toHaveProperty("duplicate");
  });

  test("a batch that was stored is sent again and stored once", async ({ service, clients: { proxy, tidemill } }) => {
    const queue = tidemill.queue<{ n: number }>(await service.queue());
    proxy.faults = ["cut after", "cut before"];
    const jobs = await queue.enqueueMany(Array.from({ length: 20 }, (_, n) => ({ payload: { n } })));
    expect(jobs.map(({ payload }) => payload.n)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect((await queue.jobs.list({ limit: 100 })).data).toHaveLength(20);
  });

  test("a batch in which some jobs have keys of their own is sent again and stored once", async ({
    service,
    clients: { proxy, tidemill },
  }) => {
    const queue = tidemill.queue(await service.queue());
    proxy.faults = ["cut after"];
    const jobs = await queue.enqueueMany([{ payload: 1, idempotencyKey: "own" }, { payload: 2 }]);
    expect((await queue.jobs.list()).data.map(({ id }) => id).sort()).toEqual(jobs.map(({ id }) => id).sort());
    expect(jobs[1]).not.toHaveProperty("duplicate");
  });

  test("what would change more the second time is not sent again", async ({ clients: { proxy, tidemill } }) => {
    proxy.faults = ["cut after"];
    const error = await failureOf(tidemill.queues.create({ name: "once" }));
    expect(error).toMatchObject({ name: "TidemillError", code: "NO_RESPONSE", status: null, neverSent: false });
    expect(error.message).toContain(proxy.url);
    expect(proxy.lines).toEqual(["POST /v1/queues"]);
  });

  test("a paused schedule may be paused again", async ({ service, clients: { proxy, tidemill } }) => {
    await tidemill.schedules.create({ name: "nightly", queue: await service.queue(), cron: "@daily", timezone: "UTC" });
    proxy.faults = ["cut after"];
    expect(await tidemill.schedules.pause("nightly")).toMatchObject({ state: "paused" });
  });
});

describe("a service that is not there", () => {
  test("the error says so, and that nothing was sent", async ({ clients }) => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    server.close();
    const url = `http://127.0.0.1:${port}`;
    const error = await failureOf(clients.with({ url, retryForMs: 0 }).queues.create({ name: "never" }));
    expect(error).toMatchObject({ code: "NO_RESPONSE", neverSent: true });
    expect(error.message).toBe(`No response from ${url}: connect ECONNREFUSED 127.0.0.1:${port}`);
  });

  test("a call that may not be repeated is sent again when it was never sent", async ({ clients }) => {
    const { proxy } = clients;
    let tries = 0;
    const refused: typeof fetch = (input, init) => {
      tries += 1;
      if (tries < 3)
        throw Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error("no"), { code: "ECONNREFUSED" }) });
      return fetch(input, init);
    };
    await clients.with({ fetch: refused }).queues.create({ name: "third-time" });
    expect(proxy.lines).toEqual(["POST /v1/queues"]);
  });
});

describe("Retry-After", () => {
  test("a 429 changed nothing, and any call is sent again after it", async ({ clients: { proxy, tidemill } }) => {
    proxy.faults = [{ status: 429, headers: { "retry-after": "0" } }];
    expect(await tidemill.queues.create({ name: "patient" })).toMatchObject({ name: "patient" });
    expect(proxy.passed).toHaveLength(2);
  });

  test("a wait that is longer than the call is retried for fails it at once", async ({ clients: { proxy, tidemill } }) => {
    const body = JSON.stringify({ error: { code: "RATE_LIMITED", message: "Too many requests.", details: { limit: 60 } } });
    proxy.faults = [{ status: 429, headers: { "retry-after": "61" }, body }];
    expect(await failureOf(tidemill.status())).toMatchObject({
      code: "RATE_LIMITED",
      status: 429,
      retryAfterMs: 61_000,
      details: { limit: 60 },
    });
    expect(proxy.passed).toHaveLength(1);
  });

  test("with retryForMs 0 nothing is sent again", async ({ clients }) => {
    clients.proxy.faults = ["cut before"];
    expect(await failureOf(clients.with({ retryForMs: 0 }).status())).toMatchObject({ code: "NO_RESPONSE" });
    expect(clients.proxy.passed).toHaveLength(1);
  });
});

describe("an error", () => {
  test("it has the service's code, status, details and request id", async ({ service, clients: { tidemill } }) => {
    const error = await failureOf(tidemill.queues.get("emails"));
    expect(error).toBeInstanceOf(TidemillError);
    expect(error).toMatchObject({ code: "NOT_FOUND", status: 404, details: { resource: "queue", name: "emails", suggestion: null } });
    expect(error.message).toBe('There is no queue "emails".');
    expect(error.requestId).toMatch(/^req_/);
    expect(service.key).toMatch(/^svc_ws_/);
  });

  test("a response of something else says what it was", async ({ clients: { proxy, tidemill } }) => {
    proxy.faults = [{ status: 403, body: "<h1>Forbidden</h1>" }];
    const error = await failureOf(tidemill.status());
    expect(error).toMatchObject({ code: "UNEXPECTED_RESPONSE", status: 403 });
    expect(error.message).toBe('The response did not come from Tidemill: status 403 with "<h1>Forbidden</h1>".');
  });

  test("a success that is no JSON is no success", async ({ clients: { proxy, tidemill } }) => {
    proxy.faults = [{ status: 200, body: "<h1>Sign in</h1>" }];
    expect(await failureOf(tidemill.status())).toMatchObject({ code: "UNEXPECTED_RESPONSE", status: 200 });
  });

  test("a redirect is not followed, because the key would go with it", async ({ clients: { proxy, tidemill } }) => {
    proxy.faults = [{ status: 301, headers: { location: "https://tidemill.example.com/v1/status" } }];
    const error = await failureOf(tidemill.status());
    expect(error.message).toContain("a redirect to https://tidemill.example.com/v1/status, which is not followed");
    expect(proxy.passed).toHaveLength(1);
  });

  test.for(["", ".", "..", undefined as never, null as never])(
    "a name that would change the path is refused before it is sent: %j",
    async (name, { clients: { proxy, tidemill } }) => {
      expect(await failureOf(tidemill.secrets.delete(name))).toMatchObject({ code: "VALIDATION_ERROR", status: null });
      expect(await failureOf(tidemill.queue("emails").jobs.cancelOrRemove(name))).toMatchObject({ code: "VALIDATION_ERROR" });
      expect(proxy.passed).toEqual([]);
    },
  );

  test("a name is one part of the path, whatever is in it", async ({ clients: { proxy, tidemill } }) => {
    await failureOf(tidemill.queues.get("a/b?c#d"));
    expect(proxy.lines).toEqual(["GET /v1/queues/a%2Fb%3Fc%23d"]);
  });
});

describe("time and signals", () => {
  test("a request without a response in time fails", async ({ clients: { proxy, tidemill } }) => {
    proxy.faults = ["hang"];
    const error = await failureOf(tidemill.queues.create({ name: "slow" }, { timeoutMs: 20.4 }));
    expect(error).toMatchObject({ code: "TIMEOUT", status: null, message: `No response from ${proxy.url} in 20 ms.` });
  });

  test("a read that timed out is sent again", async ({ clients: { proxy, tidemill } }) => {
    proxy.faults = ["hang"];
    await expect(tidemill.status({ timeoutMs: 500 })).resolves.toMatchObject({ status: "ok" });
  });

  test("a signal that has fired keeps the request from being sent", async ({ clients: { proxy, tidemill } }) => {
    const reason = new Error("The user left.");
    expect(await failureOf(tidemill.status({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(proxy.passed).toEqual([]);
  });

  test("a signal ends a request that is under way", async ({ clients: { proxy, tidemill } }) => {
    const controller = new AbortController();
    const reason = new Error("The user left.");
    proxy.faults = ["hang"];
    proxy.onRequest = async () => controller.abort(reason);
    expect(await failureOf(tidemill.status({ signal: controller.signal }))).toBe(reason);
  });

  test("a signal ends the wait before the next try", async ({ clients }) => {
    const controller = new AbortController();
    const reason = new Error("The user left.");
    const busy: typeof fetch = async () => {
      // The client has read the response by then, and waits.
      setImmediate(() => controller.abort(reason));
      return new Response("", { status: 503, headers: { "retry-after": "30" } });
    };
    expect(await failureOf(clients.with({ fetch: busy }).status({ signal: controller.signal }))).toBe(reason);
  });

  test.for([0, -1, Number.NaN, Number.POSITIVE_INFINITY, "5"])("%s is no timeout", async (timeoutMs, { clients: { tidemill } }) => {
    const error = await failureOf(tidemill.status({ timeoutMs: timeoutMs as number }));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain("timeoutMs must be a number of milliseconds");
  });
});

test("two clients of one process are apart", async ({ service, clients }) => {
  const other = new Tidemill({ url: service.node.url, key: "svc_ws_wrong" });
  expect(await failureOf(other.status())).toMatchObject({ code: "UNAUTHORIZED" });
  await expect(clients.tidemill.status()).resolves.toMatchObject({ status: "ok" });
});
