import { LIMITS } from "@tidemill/contract";
import { describe, expect, test } from "vitest";
import type { Claim } from "#jobs";
import { type JobId, LoopTime, SharedResource, unavailable, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { type Abort, createAddressGuard, HostsInUse, type Request, type Resolution, type Response } from "#outbound";
import { Redactor } from "#redaction";
import { type ResolvedSecrets, SecretError } from "#vault";
import { CallDeliverer, type CallDelivererOptions } from "../../src/callbacks/call-deliverer.ts";
import { until } from "../harness/service.ts";

const MIB = 1024 * 1024;
const WORKSPACE = "01900000-0000-7000-8000-000000000001" as WorkspaceId;

const claimOf = (request: object): Claim => ({
  workspaceId: WORKSPACE,
  laneId: 1 as LaneId,
  id: "01900000-0000-7000-8000-000000000002" as JobId,
  kind: "http",
  leaseId: 1,
  attempt: 1,
  attempts: 3,
  spared: 0,
  backoffDelayMs: 1_000,
  payload: JSON.stringify({
    runId: "run_1",
    workflow: "pay",
    idempotencyKey: "run_1:charge",
    request: { method: "GET", url: "https://example.com/a", headers: {}, timeoutMs: 1_000, ...request },
  }),
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
});

const FOUND: Resolution = { kind: "found", addresses: [{ address: "192.0.2.1", family: 4 }] };

/** A deliverer whose names, clock, secrets and wire are the test's own. */
function stage(options: Partial<CallDelivererOptions> = {}, memory = 8 * MIB) {
  const now = { elapsedMs: 0 };
  const reported: string[] = [];
  const sent: { request: Request; done: (response: Response) => void }[] = [];
  const hosts = new HostsInUse();
  const payloadMemory = new SharedResource({ name: "payload_memory", capacity: memory });
  const send = (request: Request, done: (response: Response) => void): Abort => {
    sent.push({ request, done });
    return (reason) => done({ kind: "failed", error: reason });
  };
  const deliverer = new CallDeliverer({
    sender: { send },
    names: { resolve: () => FOUND },
    hosts,
    secrets: {
      resolve: async () =>
        ({ values: new Map(), redactor: new Redactor(new Map()), former: [], missingBefore: "" }) as unknown as ResolvedSecrets,
    },
    shares: { loopTime: new LoopTime(), payloadMemory },
    guard: createAddressGuard({ allowLoopback: false, allowed: [] }),
    isWanted: async () => true,
    version: "1.2.3",
    emit: (event) => void reported.push(event),
    clock: { nowMs: () => 1_795_262_400_000, elapsedMs: () => now.elapsedMs },
    ...options,
  });
  return { deliverer, now, sent, reported, payloadMemory };
}

describe("a call", () => {
  test("that is not wanted is not sent", async () => {
    const { deliverer, sent } = stage({ isWanted: async () => false });
    expect(await deliverer.start(claimOf({})).result).toEqual({ kind: "withdrawn" });
    expect(sent).toEqual([]);
  });

  test("uses no attempt while the database is away", async () => {
    const { deliverer, reported } = stage({ isWanted: () => Promise.reject(unavailable("Away.")) });
    expect(await deliverer.start(claimOf({})).result).toEqual({ kind: "postponed", waitMs: 2_000 });
    expect(reported).toEqual(["callbacks_postponed"]);
  });

  test("uses no attempt while its secrets cannot be read, and one when it may not have them", async () => {
    const withSecret = claimOf({ headers: { a: "${{ secrets.A }}" } });
    const away = stage({ secrets: { resolve: () => Promise.reject(unavailable("Away.")) } });
    expect(await away.deliverer.start(withSecret).result).toEqual({ kind: "postponed", waitMs: 2_000 });
    const refused = stage({ secrets: { resolve: () => Promise.reject(new SecretError("SECRET_NOT_ALLOWED", "No.")) } });
    const failed = {
      kind: "callFailed",
      code: "SECRET_NOT_ALLOWED",
      message: "No.",
      status: null,
      retryAfterSeconds: null,
      forGood: false,
    };
    expect(await refused.deliverer.start(withSecret).result).toEqual(failed);
  });

  test("uses no attempt when the node lacks descriptors, which pauses claims", async () => {
    const { deliverer, sent } = stage();
    const { result } = deliverer.start(claimOf({}));
    await until(() => sent.length === 1, "the request");
    sent[0]?.done({ kind: "failed", error: Object.assign(new Error("Too many."), { code: "EMFILE" }) });
    expect(await result).toEqual({ kind: "postponed", waitMs: 2_000, shortage: true });
  });

  test("that is aborted ends at once, also while its name is looked up, and is not sent then", async () => {
    const name = Promise.withResolvers<Resolution>();
    const { deliverer, sent } = stage({ names: { resolve: () => name.promise } });
    const attempt = deliverer.start(claimOf({}));
    attempt.abort();
    expect(await attempt.result).toEqual({ kind: "withdrawn" });
    name.resolve(FOUND);
    await name.promise;
    expect(sent).toEqual([]);
  });

  test("times out by its own clock", async () => {
    const { deliverer, sent, now } = stage();
    const { result } = deliverer.start(claimOf({}));
    await until(() => sent.length === 1, "the request");
    now.elapsedMs = 999;
    deliverer.enforceDeadlines(0);
    now.elapsedMs = 1_000;
    deliverer.enforceDeadlines(0);
    expect(await result).toMatchObject({ kind: "callFailed", code: "TIMEOUT", forGood: false });
  });

  test("with a long response takes memory of its workspace, and gives it back", async () => {
    const { deliverer, sent, payloadMemory } = stage();
    const { result } = deliverer.start(claimOf({}));
    await until(() => sent.length === 1, "the request");
    const { request, done } = sent[0] as (typeof sent)[number];
    expect(request.onLength?.(LIMITS.resultBytes)).toBeNull();
    expect(payloadMemory.total).toBe(0);
    expect(request.onLength?.(MIB)).toBeNull();
    expect(payloadMemory.total).toBe(MIB - LIMITS.resultBytes);
    done({ kind: "responded", status: 200, headers: {}, body: Buffer.from("1") });
    expect(await result).toEqual({ kind: "accepted", status: 200, result: '{"status":200,"headers":{},"body":1}' });
    expect(payloadMemory.total).toBe(0);
  });

  test("whose response finds no room is made again later and uses no attempt", async () => {
    const { deliverer, sent, payloadMemory } = stage({}, MIB);
    payloadMemory.take(WORKSPACE, MIB / 2);
    const { result } = deliverer.start(claimOf({}));
    await until(() => sent.length === 1, "the request");
    const { request, done } = sent[0] as (typeof sent)[number];
    const error = request.onLength?.(MIB);
    expect(error).toBeInstanceOf(Error);
    done({ kind: "failed", error });
    expect(await result).toEqual({ kind: "postponed", waitMs: 2_000 });
    expect(payloadMemory.total).toBe(MIB / 2);
  });
});
