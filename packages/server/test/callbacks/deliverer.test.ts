import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Claim } from "#jobs";
import { type JobId, LoopTime, SharedResource, unavailable, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { type Abort, createAddressGuard, HostsInUse, type Request, type Resolution, type Response, sign, signingKey } from "#outbound";
import { Redactor } from "#redaction";
import { type ResolvedSecrets, SecretError, type SecretUse } from "#vault";
import { CallbackDeliverer } from "../../src/callbacks/deliverer.ts";
import type { CallbackEndpoint, CallbackEndpoints } from "../../src/callbacks/endpoint.ts";
import type { LookupResult } from "../../src/outbound/names/lookup.ts";
import { Names } from "../../src/outbound/names/names.ts";
import { LookupError } from "../../src/outbound/names/resolution.ts";
import { until } from "../harness/service.ts";

const claim: Claim = {
  workspaceId: "01900000-0000-7000-8000-000000000001" as WorkspaceId,
  laneId: 1 as LaneId,
  id: "01900000-0000-7000-8000-000000000002" as JobId,
  kind: "queue",
  leaseId: 1,
  attempt: 2,
  attempts: 3,
  spared: 1,
  backoffDelayMs: 1_000,
  payload: '{"to":"ada"}',
  tag: null,
  concurrencyKey: null,
  schedule: null,
  scheduledFor: null,
  traceparent: null,
  tracestate: null,
  revision: 1,
  probe: null,
  limited: false,
  createdAt: "2026-11-21T12:00:00.000Z",
  startedAt: "2026-11-21T12:00:00.000Z",
};

const endpoint: CallbackEndpoint = {
  revision: 1,
  queue: "emails",
  host: "example.com",
  origin: "https://example.com",
  path: ["/hook"],
  headers: {},
  secrets: [],
  plain: { path: "/hook", headers: {} },
  timeoutMs: 1_000,
  key: signingKey("cbs_secret"),
  blocked: null,
};

const handed = (...values: [name: string, value: string][]): ResolvedSecrets => ({
  values: new Map(values),
  redactor: new Redactor(new Map(values)),
  former: [],
  missingBefore: "2026-11-21T12:00:00.000Z",
});

const FOUND: Extract<Resolution, { kind: "found" }> = { kind: "found", addresses: [{ address: "192.0.2.1", family: 4 }] };

/** A deliverer whose names, clock, endpoints and wire are the test's own. */
function stage(
  of: CallbackEndpoint | Promise<CallbackEndpoint | null>,
  resolve: (use: SecretUse) => Promise<ResolvedSecrets> = async () => handed(),
  resolution: Resolution | Promise<Resolution> = FOUND,
  names: Pick<Names, "resolve"> = { resolve: () => resolution },
) {
  const now = { ms: 1_795_262_400_000, elapsedMs: 0 };
  const reported: string[] = [];
  const sent: { request: Request; done: (response: Response) => void }[] = [];
  const hosts = new HostsInUse();
  const send = (request: Request, done: (response: Response) => void): Abort => {
    sent.push({ request, done });
    return (reason) => done({ kind: "failed", error: reason });
  };
  const deliverer = new CallbackDeliverer({
    sender: { send },
    names,
    hosts,
    endpoints: { of: () => of } as unknown as CallbackEndpoints,
    secrets: { resolve },
    shares: { loopTime: new LoopTime() },
    version: "1.2.3",
    emit: (event) => void reported.push(event),
    clock: { nowMs: () => now.ms, elapsedMs: () => now.elapsedMs },
  });
  return { deliverer, now, sent, reported, hosts };
}

describe("a callback", () => {
  test("a callback is signed for the moment it leaves, not for the one it was claimed at", async () => {
    const loading = Promise.withResolvers<CallbackEndpoint>();
    const { deliverer, now, sent } = stage(loading.promise);
    deliverer.start(claim);
    now.ms += 90_000;
    loading.resolve(endpoint);
    await loading.promise;
    if (!sent[0]) throw new Error("Nothing left.");
    const { headers, body } = sent[0].request;
    expect(headers["X-Service-Timestamp"]).toBe("1795262490");
    expect(headers["X-Service-Signature"]).toBe(sign(endpoint.key, headers["X-Service-Job-Id"] as string, 1_795_262_490, body as Buffer));
  });

  test("a callback counts all attempts that are allowed, the spared ones too", () => {
    const { deliverer, sent } = stage(endpoint);
    deliverer.start(claim);
    expect(JSON.parse(String(sent[0]?.request.body))).toMatchObject({ attempt: 2, attempts: 4 });
  });

  test("a callback has its time from when it leaves", async () => {
    const loading = Promise.withResolvers<CallbackEndpoint>();
    const { deliverer, now } = stage(loading.promise);
    const attempt = deliverer.start(claim);
    now.elapsedMs += 5_000;
    loading.resolve(endpoint);
    await loading.promise;
    now.elapsedMs += 999;
    deliverer.enforceDeadlines(0);
    expect(await Promise.race([attempt.result, "none yet"])).toBe("none yet");
    now.elapsedMs += 1;
    deliverer.enforceDeadlines(0);
    expect(await attempt.result).toMatchObject({ kind: "unreachable", code: "TIMEOUT" });
  });

  test("a callback that is aborted before it leaves never leaves, and answers that it was withdrawn", async () => {
    const loading = Promise.withResolvers<CallbackEndpoint>();
    const { deliverer, sent } = stage(loading.promise);
    const attempt = deliverer.start(claim);
    attempt.abort();
    loading.resolve(endpoint);
    expect(await attempt.result).toEqual({ kind: "withdrawn" });
    expect(sent).toEqual([]);
  });

  test("a callback that is aborted after it left answers that it was withdrawn, whatever comes", async () => {
    const { deliverer, sent } = stage(endpoint);
    const attempt = deliverer.start(claim);
    attempt.abort();
    sent[0]?.done({ kind: "responded", status: 200, headers: {}, body: null });
    expect(await attempt.result).toEqual({ kind: "withdrawn" });
  });

  test.for(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"])(
    "a callback that the node cannot send for %s is postponed, and that is reported once",
    async (code) => {
      const { deliverer, now, sent, reported } = stage(endpoint);
      const fail = async (error: Error) => {
        const attempt = deliverer.start(claim);
        sent.shift()?.done({ kind: "failed", error });
        return attempt.result;
      };
      const shortage = Object.assign(new Error(`connect ${code}`), { code });
      const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      expect(await fail(shortage)).toEqual({ kind: "postponed", waitMs: 2_000, shortage: true });
      expect(await fail(new AggregateError([refused, shortage]))).toMatchObject({ kind: "postponed", shortage: true });
      expect(await fail(refused)).toMatchObject({ kind: "unreachable", code: "CONNECTION" });
      expect(reported).toEqual(["callbacks_postponed"]);
      now.elapsedMs += 10_000;
      await fail(shortage);
      expect(reported).toEqual(["callbacks_postponed", "callbacks_postponed"]);
    },
  );

  test("a callback is withdrawn when its queue has no address any more", async () => {
    const { deliverer, sent } = stage(Promise.resolve(null));
    expect(await deliverer.start(claim).result).toEqual({ kind: "withdrawn" });
    expect(sent).toEqual([]);
  });

  test("a callback is postponed when the address cannot be read", async () => {
    const { deliverer } = stage(Promise.reject(unavailable()));
    expect(await deliverer.start(claim).result).toEqual({ kind: "postponed", waitMs: 2_000 });
  });

  test("a callback does not leave for an address that may not be reached", async () => {
    const { deliverer, sent } = stage({ ...endpoint, host: "169.254.169.254", blocked: "169.254.169.254" });
    expect(await deliverer.start(claim).result).toMatchObject({ kind: "unreachable", code: "BLOCKED_ADDRESS" });
    expect(sent).toEqual([]);
  });
});

describe("the name of a handler", () => {
  const failure = (code: "ENOTFOUND" | "LOOKUP_NOT_RUN"): Resolution => ({
    kind: "failed",
    error: new LookupError("example.com", code),
    unsent: true,
  });
  const templated = { ...claim, payload: '{"to":"${{ secrets.TO }}"}' };

  test("a callback has its time from when the name of its handler is known", async () => {
    const looking = Promise.withResolvers<Resolution>();
    const { deliverer, now, sent } = stage(endpoint, undefined, looking.promise);
    const attempt = deliverer.start(claim);
    now.elapsedMs += 5_000;
    deliverer.enforceDeadlines(0);
    expect(sent).toEqual([]);
    looking.resolve(FOUND);
    await until(() => sent.length > 0, "the callback to leave");
    now.elapsedMs += 999;
    deliverer.enforceDeadlines(0);
    expect(await Promise.race([attempt.result, "none yet"])).toBe("none yet");
  });

  test("a callback whose name does not exist fails, and asks for no secrets", async () => {
    const asked: SecretUse[] = [];
    const { deliverer } = stage(
      endpoint,
      async (use) => {
        asked.push(use);
        return handed();
      },
      failure("ENOTFOUND"),
    );
    expect(await deliverer.start(templated).result).toMatchObject({ kind: "unreachable", code: "DNS" });
    expect(asked).toEqual([]);
  });

  test("a callback to a name with a private address fails as one to an absent name does, and asks for no secrets", async () => {
    const asked: SecretUse[] = [];
    const found: LookupResult = { resolution: { kind: "found", addresses: [{ address: "10.0.0.1", family: 4 }] }, ttlSeconds: 60 };
    const names = new Names({
      files: { read: () => ({ hosts: new Map(), search: { domains: [], ndots: 1 } }) },
      lookup: { run: async () => found, isServed: async () => true },
      guard: createAddressGuard({ allowLoopback: false, allowed: [] }),
      share: new SharedResource({ name: "lookups", capacity: 1 }),
      clock: { elapsedMs: () => 0 },
    });
    const { deliverer, sent, reported } = stage(
      endpoint,
      async (use) => {
        asked.push(use);
        throw new SecretError("SECRET_NOT_FOUND", "There is no secret TO.");
      },
      undefined,
      names,
    );
    const absent = await stage(endpoint, undefined, failure("ENOTFOUND")).deliverer.start(templated).result;
    expect(await deliverer.start(templated).result).toEqual(absent);
    expect([asked, sent, reported]).toEqual([[], [], ["callback_blocked"]]);
  });

  test("the connection of a callback is made to what its name was resolved to, until the callback ends", async () => {
    const { deliverer, sent, hosts } = stage(endpoint);
    const connected = () =>
      new Promise((resolve) => hosts.lookup("example.com", { all: true }, (error, addresses) => resolve(error?.code ?? addresses)));
    const attempts = [deliverer.start(claim), deliverer.start(claim)];
    sent[0]?.done({ kind: "responded", status: 200, headers: {}, body: null });
    await attempts[0]?.result;
    expect(await connected()).toEqual(FOUND.addresses);
    attempts[1]?.abort();
    expect(await connected()).toBe("LOOKUP_NOT_RUN");
  });

  test("a callback is postponed when its name could not be looked up here, which is reported, and the node goes on", async () => {
    const { deliverer, reported } = stage(endpoint, undefined, failure("LOOKUP_NOT_RUN"));
    expect(await deliverer.start(claim).result).toEqual({ kind: "postponed", waitMs: 2_000 });
    expect(reported).toEqual(["callbacks_postponed"]);
  });

  test("a callback is postponed when its workspace got no turn for the look-up, and the node goes on", async () => {
    const { deliverer, reported } = stage(endpoint, undefined, Promise.reject(unavailable()));
    expect(await deliverer.start(claim).result).toEqual({ kind: "postponed", waitMs: 2_000 });
    expect(reported).toEqual([]);
  });

  test("a callback that is aborted during its look-up asks for no secrets", async () => {
    const looking = Promise.withResolvers<Resolution>();
    const asked: SecretUse[] = [];
    const read = async (use: SecretUse) => {
      asked.push(use);
      return handed(["TO", "ada"]);
    };
    const { deliverer, sent } = stage(endpoint, read, looking.promise);
    const attempt = deliverer.start(templated);
    attempt.abort();
    looking.resolve(FOUND);
    expect(await attempt.result).toEqual({ kind: "withdrawn" });
    await setImmediate();
    expect([asked, sent]).toEqual([[], []]);
  });
});

describe("a callback with secrets", () => {
  const templated = { ...claim, payload: '{"to":"${{ secrets.TO }}"}' };

  test("a callback with secrets asks for those that it names, for its own queue and host", async () => {
    const asked: SecretUse[] = [];
    const bound = {
      ...endpoint,
      plain: null,
      secrets: ["PATH", "TO"],
      path: ["/", { secret: "PATH" }],
      headers: { "x-to": [{ secret: "TO" }] },
    };
    const { deliverer, sent } = stage(bound, async (use) => {
      asked.push(use);
      return handed(["PATH", "p"], ["TO", "ada"]);
    });
    await Promise.race([deliverer.start(templated).result, until(() => sent.length > 0)]);
    expect(asked).toEqual([
      {
        workspaceId: claim.workspaceId,
        queue: "emails",
        host: "example.com",
        jobId: expect.stringMatching(/^job_/),
        attempt: 2,
        names: ["PATH", "TO"],
      },
    ]);
    expect(sent[0]?.request).toMatchObject({ path: "/p", headers: { "x-to": "ada" } });
    expect(JSON.parse(String(sent[0]?.request.body)).payload).toEqual({ to: "ada" });
  });

  test("a callback with secrets asks for none that would go to a blocked address", async () => {
    const asked: SecretUse[] = [];
    const { deliverer } = stage({ ...endpoint, blocked: "10.0.0.1" }, async (use) => {
      asked.push(use);
      return handed();
    });
    expect(await deliverer.start(templated).result).toMatchObject({ code: "BLOCKED_ADDRESS" });
    expect(asked).toEqual([]);
  });

  test("a callback with secrets is postponed while the database is away", async () => {
    const { deliverer } = stage(endpoint, () => Promise.reject(unavailable()));
    expect(await deliverer.start(templated).result).toEqual({ kind: "postponed", waitMs: 2_000 });
  });

  test("a callback with secrets tells why it does not get them", async () => {
    const { deliverer } = stage(endpoint, () => Promise.reject(new SecretError("SECRET_NOT_FOUND", "There is no secret TO.")));
    expect(await deliverer.start(templated).result).toEqual({
      kind: "unsendable",
      code: "SECRET_NOT_FOUND",
      message: "There is no secret TO.",
    });
  });

  test("a fault of ours on the way counts as no answer", async () => {
    const { deliverer } = stage(endpoint, () => Promise.reject(new TypeError("oops")));
    await expect(deliverer.start(templated).result).rejects.toThrow("oops");
  });

  test("a callback with secrets that is aborted while it waits for them never leaves", async () => {
    const waiting = Promise.withResolvers<ResolvedSecrets>();
    const { deliverer, sent } = stage(endpoint, () => waiting.promise);
    const attempt = deliverer.start(templated);
    attempt.abort();
    waiting.resolve(handed(["TO", "ada"]));
    expect(await attempt.result).toEqual({ kind: "withdrawn" });
    await setImmediate();
    expect(sent).toEqual([]);
  });
});
