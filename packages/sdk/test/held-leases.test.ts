import { JobAbortedError } from "@tidemill/sdk";
import { expect, test } from "vitest";
import { HeldLeases } from "../src/worker/held-leases.ts";

test("a cancel does not end what the worker has taken since it asked: the run is undone", () => {
  const held = new HeldLeases();
  const reason = (why: JobAbortedError["why"]) => new JobAbortedError(why);
  const other = held.add({ id: "run_2", lease_token: "a" }, 1_000, reason);
  const { taken } = held;
  const undo = held.add({ id: "run_1", lease_token: "b" }, 1_000, reason);
  const unsure = held.cancel(["run_1", "run_2", "run_3"], taken);
  expect(unsure).toEqual([undo.lease]);
  expect([undo.controller.signal.aborted, other.controller.signal.aborted]).toEqual([false, true]);
});

test("a job that comes again under another lease is lost under the first one", () => {
  const held = new HeldLeases();
  const reason = (why: JobAbortedError["why"]) => new JobAbortedError(why);
  const first = held.add({ id: "job_1", lease_token: "a" }, 1_000, reason);
  const second = held.add({ id: "job_1", lease_token: "b" }, 2_000, reason);
  expect(first.controller.signal.reason).toMatchObject({ why: "lease_lost" });
  expect([held.remove(first), held.remove(second)]).toEqual([false, true]);
  expect(second.controller.signal.aborted).toBe(false);
});
