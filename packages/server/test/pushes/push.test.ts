import { expect, test } from "vitest";
import { DatabaseClock, runSynchronously, type SlicedWork, unavailable } from "#kernel";
import { signingKey } from "#outbound";
import { Push, type PushOptions } from "../../src/pushes/push.ts";

/** One execution whose program responds with this status and outcome, while nobody can say whether it has stored a step. */
function pushTo(status: number, outcome: object) {
  const body = {
    kind: "body",
    text: ["{}"],
    redactor: null,
    hasAdvanced: async () => {
      throw unavailable("The database is unavailable.");
    },
  };
  const response = { kind: "responded", status, headers: {}, body: Buffer.from(JSON.stringify(outcome)) };
  const options = {
    program: { isOnce: false, timeoutSetting: null, timeoutMs: () => 1_000, bodyOf: async () => body },
    endpoints: {
      of: async () => ({ host: "example.com", origin: "http://example.com", path: "/", key: signingKey("cbs_secret"), isBlocked: false }),
    },
    names: { resolve: async () => ({ kind: "resolved", addresses: [] }) },
    hosts: { begin: () => {}, end: () => {} },
    sender: { send: (_request: unknown, onResponse: (one: unknown) => void) => void queueMicrotask(() => onResponse(response)) },
    shares: {
      loopTime: { run: (_workspace: unknown, _length: number, work: SlicedWork<unknown>) => runSynchronously(work), drop: () => {} },
    },
    clock: new DatabaseClock(),
    emit: () => {},
    version: "1",
  };
  const claim = { kind: "run", id: "01a1fe1d-c7d8-7001-be78-c222609f0e62", attempt: 1, traceparent: null, tracestate: null };
  const push = new Push(claim as never, {} as never, options as unknown as PushOptions, () => {});
  push.begin();
  return push.result;
}

test("an execution uses no attempt while the database cannot say whether it has stored a step", async () => {
  expect(await pushTo(500, {})).toMatchObject({ kind: "postponed", waitMs: expect.any(Number) });
  expect(await pushTo(200, { outcome: "released" })).toEqual({ kind: "postponed", waitMs: 1_000, released: "soon" });
});
