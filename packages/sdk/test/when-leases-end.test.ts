import { expect, test } from "vitest";
import { whenLeasesEnd } from "../src/worker/when-leases-end.ts";

const LEASE_MS = 30_000;

test.for([
  ["counts from the claim, less what clocks may drift", { first: 0, last: 0, responded: 28_010 }, 28_000, 27_720],
  ["counts from when it was sent without a wait", { first: 5, last: 5, responded: 9 }, 0, 5],
  ["counts from the claim, however late the response comes", { first: 0, last: 0, responded: 90_000 }, 10_000, 9_900],
  ["counts from the claim of the last try", { first: 0, last: 40_000, responded: 60_000 }, 10_000, 49_900],
  ["counts from the first try when that took it", { first: 0, last: 40_000, responded: 40_005 }, null, 0],
  ["counts from the first try when an older service does not say", { first: 0, last: 40_000, responded: 60_000 }, undefined, 0],
] as const)("a lease %s", ([, { first, last, responded }, waitedMs, fromMs]) => {
  const times = { firstSentMs: first, lastSentMs: last, respondedMs: responded };
  expect(whenLeasesEnd(times, waitedMs, LEASE_MS)).toBe(fromMs + LEASE_MS);
});

test("nothing is left of a lease when the worker's clock was stopped during the wait", () => {
  // The machine was suspended after 2 s, for a minute. The service took the job after 20 s, and had given it to another worker after 50 s.
  expect(whenLeasesEnd({ firstSentMs: 0, lastSentMs: 0, respondedMs: 2_000 }, 20_000, LEASE_MS)).toBe(2_000);
});

test("a lease counts for too long by a stop of the worker's clock that a late response hides", () => {
  // The machine was suspended for 10 s. The service took the job after 20 s, which was 10 s by the worker's clock, and responded after 31 s.
  expect(whenLeasesEnd({ firstSentMs: 0, lastSentMs: 0, respondedMs: 21_000 }, 20_000, LEASE_MS)).toBe(19_800 + LEASE_MS);
});
