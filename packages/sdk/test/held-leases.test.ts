import { JobAbortedError } from "@tidemill/sdk";
import { expect, test } from "vitest";
import { HeldLeases } from "../src/worker/held-leases.ts";

test("a job that comes again under another lease is lost under the first one", () => {
  const held = new HeldLeases();
  const reason = (why: JobAbortedError["why"]) => new JobAbortedError(why);
  const first = held.add({ id: "job_1", lease_token: "a" }, 1_000, reason);
  const second = held.add({ id: "job_1", lease_token: "b" }, 2_000, reason);
  expect(first.controller.signal.reason).toMatchObject({ why: "lease_lost" });
  expect([held.remove(first), held.remove(second)]).toEqual([false, true]);
  expect(second.controller.signal.aborted).toBe(false);
});
