import { GATES, type GateName } from "@tidemill/contract";
import { describe, expect, test } from "vitest";
import { showJobId } from "#jobs";
import { toMoment } from "#kernel";
import { explain } from "../../src/explain/explain.ts";
import type { ExplainedJob } from "../../src/explain/store.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const after = (seconds: number): string => toMoment(NOW_MS + seconds * 1000);
const QUOTA = { used: 1, limit: null, remaining: null, resets_at: after(1_000_000) };

const ID = "01a0d1f8-0000-7000-8000-000000000001" as ExplainedJob["id"];
const SHOWN_ID = showJobId(ID);
const ERROR = JSON.stringify({ code: "HTTP_STATUS", message: "The handler responded with 500.", status: 500 });

/** A job that nothing holds, the first in line. */
const FREE: ExplainedJob = {
  shares_used_up: [],
  now: after(0),
  id: ID,
  state: "waiting",
  attempt: 0,
  attempts: 3,
  spared: 0,
  node_losses: 0,
  job_error: null,
  created_at: after(0),
  nodes_alive: 2,
  node_seen_at: after(0),
  worker: null,
  claim_ended: false,
  claim_ends_at: null,
  run_at: after(0),
  run_at_is_ahead: false,
  started_at: null,
  finished_at: null,
  concurrency_key: null,
  key_slot: null,
  approval: null,
  decide_at: null,
  kind: "queue",
  type: "standard",
  approval_timeout: null,
  on_timeout: "reject",
  concurrency_per_key: 1,
  plan: "pro",
  paused: false,
  paused_at: null,
  paused_by: null,
  has_callback_url: true,
  worker_seen_at: null,
  no_worker_asks: true,
  all_workers_busy: false,
  concurrency: null,
  in_flight: null,
  slots_free: null,
  rate_max: null,
  rate_seconds: null,
  started: null,
  starts_free: null,
  starts_at: null,
  expiries: [],
  opened_at: null,
  probe_at: null,
  probe_is_due: false,
  last_error: null,
  ahead: 0,
  ahead_is_more: false,
  key_active: 0,
  key_ahead: 0,
  key_ahead_is_more: false,
  oldest_of_key: null,
  oldest_of_key_at: null,
  oldest_of_lane: null,
  oldest_of_lane_at: null,
  finished_last_minute: 0,
  measured_seconds: 60,
  lane_active: 0,
};

const dueIn = (seconds: number): Partial<ExplainedJob> => ({ state: "delayed", run_at: after(seconds), run_at_is_ahead: seconds > 0 });
const NO_HANDLER: Partial<ExplainedJob> = { has_callback_url: false };
const ASKED_FOR: Partial<ExplainedJob> = { has_callback_url: false, no_worker_asks: false, worker_seen_at: after(0) };
const BUSY: Partial<ExplainedJob> = { all_workers_busy: true };
const TIMEOUT = JSON.stringify({ code: "TIMEOUT", message: "Too slow.", status: null });
const openUntil = (seconds: number): Partial<ExplainedJob> => ({
  opened_at: after(-60),
  probe_at: after(seconds),
  probe_is_due: seconds <= 0,
  last_error: TIMEOUT,
});
const KEY: Partial<ExplainedJob> = { concurrency_key: "customer-7", key_active: 1 };
const FULL: Partial<ExplainedJob> = { concurrency: 2, in_flight: 2, slots_free: 0 };
const SPENT: Partial<ExplainedJob> = {
  rate_max: 100,
  rate_seconds: 60,
  started: 100,
  starts_free: 0,
  starts_at: after(7),
  expiries: [[NOW_MS + 7_000, 100]],
};
const NO_NODE: Partial<ExplainedJob> = { nodes_alive: 0, node_seen_at: after(-40) };
const FAILED_ONCE: Partial<ExplainedJob> = { attempt: 1, job_error: ERROR };
const OLDEST_OF_KEY: Partial<ExplainedJob> = { oldest_of_key: ID, oldest_of_key_at: after(-300) };
const OLDEST_OF_LANE: Partial<ExplainedJob> = { oldest_of_lane: ID, oldest_of_lane_at: after(-300) };
const PENDING: Partial<ExplainedJob> = { state: "pending_approval", type: "approval" };

const summaryOf = (...parts: Partial<ExplainedJob>[]): string => explain(Object.assign({}, FREE, ...parts), QUOTA).summary;

describe("the summary of a job that is held says why, and for how long", () => {
  test.each<[string, ...Partial<ExplainedJob>[]]>([
    ["Not running: it is due in 29 s.", dueIn(29)],
    ["Not running: it is due in 1 s.", dueIn(0.001)],
    ["Not running: it is due in 1 min (2026-11-21T12:01:00.000Z).", dueIn(60)],
    ["Not running: it is due in 1 min 30 s (2026-11-21T12:01:30.000Z).", dueIn(90)],
    ["Not running: it is due in 2 h (2026-11-21T14:00:00.000Z).", dueIn(7_200)],
    ["Not running: it is due in 1 day 1 h (2026-11-22T13:00:00.000Z).", dueIn(90_000)],
    ["Not running: it is due in 365 days (2027-11-21T12:00:00.000Z).", dueIn(31_536_000)],
    ["Not running: it is due now and about to become waiting.", dueIn(-1)],
    ["Not running: attempt 2 of 3 is due in 29 s.", dueIn(29), { attempt: 1 }],
    ["Not running: attempt 2 of 3 is due now and about to become waiting.", dueIn(0), { attempt: 1 }],
    ["Not running: it has waited for approval since it was enqueued just now.", PENDING],
    ["Not running: it has waited for approval since it was enqueued just now.", PENDING, { decide_at: after(20) }],
    [
      "Not running: it has waited for approval since it was enqueued just now and is rejected in 20 s if nobody decides.",
      PENDING,
      { decide_at: after(20), approval_timeout: 60 },
    ],
    [
      "Not running: it has waited for approval since it was enqueued just now and is approved in 20 s if nobody decides.",
      PENDING,
      { decide_at: after(20), approval_timeout: 60, on_timeout: "approve" },
    ],
    ["Not running: nobody decided in time and it is about to be rejected.", PENDING, { decide_at: after(-1), approval_timeout: 60 }],
    ["Not running: the queue is paused.", { paused: true }],
    ["Not running: the queue is paused.", { paused: true, ahead: 4 }],
    ["Not running: the plan free does not include callbacks.", { plan: "free" }],
    ["Not running: the queue has neither a callback_url nor a worker.", NO_HANDLER],
    ["Not running: the circuit is open (TIMEOUT) and the next probe goes out in 7 s.", openUntil(7)],
    ["Not running: the circuit is open (TIMEOUT) and the next probe goes out in 7 s. 1 job goes before it.", openUntil(7), { ahead: 1 }],
    ["Not running: the circuit is open (TIMEOUT) and a job before it is the next probe. 4 jobs go before it.", openUntil(0), { ahead: 4 }],
    ["Not running: the circuit is open and the next probe goes out in 7 s.", openUntil(7), { last_error: null }],
    ["Not running: its concurrencyKey has 1 of 1 allowed jobs active.", KEY],
    ["Not running: its concurrencyKey has 1 of 1 allowed jobs active and 2 jobs ahead of it.", KEY, { key_ahead: 2 }],
    [
      "Not running: its concurrencyKey has 1 of 1 allowed jobs active and more than 10000 jobs ahead of it.",
      KEY,
      { key_ahead: 10_000, key_ahead_is_more: true },
    ],
    ["Not running: it is next for its concurrencyKey and about to start waiting for a node.", KEY, { concurrency_per_key: 3 }],
    ["Not running: it is next for its concurrencyKey and about to start waiting for a worker.", KEY, ASKED_FOR, { concurrency_per_key: 3 }],
    [
      "Not running: its concurrencyKey has 1 of 1 allowed jobs active. It should start in 30 s.",
      KEY,
      { lane_active: 1, finished_last_minute: 2 },
    ],
    ["Not running: the queue has 2 of 2 allowed jobs in flight.", FULL],
    ["Not running: the queue has 2 of 2 allowed jobs in flight. 4 jobs go before it.", FULL, { ahead: 4 }],
    [
      "Not running: the queue has 2 of 2 allowed jobs in flight. 4 jobs go before it, and it should start in 5 s.",
      FULL,
      { ahead: 4, finished_last_minute: 60 },
    ],
    [
      "Not running: the queue has 1 of 2 allowed jobs in flight. 1 job goes before it.",
      { concurrency: 2, in_flight: 1, slots_free: 1, ahead: 1 },
    ],
    ["Not running: the queue has started 100 of 100 allowed attempts in the last 60 s and may start the next in 7 s.", SPENT],
    [
      "Not running: the queue has started 97 of 100 allowed attempts in the last 60 s. 3 jobs go before it, and it should start in 7 s.",
      SPENT,
      { started: 97, starts_free: 3, ahead: 3 },
    ],
    [
      "Not running: attempt 2 of 3 is due in 29 s. The last attempt failed with HTTP_STATUS: The handler responded with 500.",
      dueIn(29),
      FAILED_ONCE,
    ],
    [
      "Not running: attempt 6 of 30 is due in 29 s. The last attempt failed with HTTP_STATUS: The handler responded with 500.",
      dueIn(29),
      FAILED_ONCE,
      { attempt: 6, attempts: 31, spared: 1 },
    ],
    ["Not running: no node is alive and the last one renewed its lease 40 s ago.", NO_NODE],
    ["Not running: no node is alive.", NO_NODE, { node_seen_at: null }],
    ["Not running: no node is alive and the last one renewed its lease 40 s ago, and it was due 30 s ago.", NO_NODE, dueIn(-30)],
    ["Not running: the queue was paused 20 s ago by key_1.", { paused: true, paused_at: after(-20), paused_by: "key_1" }],
    [
      "Not running: it has waited for approval since it was enqueued 5 min ago (2026-11-21T11:55:00.000Z).",
      PENDING,
      { created_at: after(-300) },
    ],
    ["Not running: the circuit is open (HTTP_STATUS 500) and the next probe goes out in 7 s.", openUntil(7), { last_error: ERROR }],
    [`Not running: its concurrencyKey has 1 of 1 allowed jobs active (${SHOWN_ID} has run for 5 min).`, KEY, OLDEST_OF_KEY],
    [`Not running: the queue has 2 of 2 allowed jobs in flight (${SHOWN_ID} has run longest: 5 min).`, FULL, OLDEST_OF_LANE],
    ["Not running: it is due in 29 s, and the queue has neither a callback_url nor a worker.", dueIn(29), NO_HANDLER],
    ["Not running: the queue is paused, and the queue has 2 of 2 allowed jobs in flight.", { paused: true }, FULL],
    [
      "Not running: it is due in 29 s, it has waited for approval since it was enqueued just now, and the queue is paused.",
      dueIn(29),
      PENDING,
      { paused: true },
    ],
  ])("the summary of a job that is held says why, and for how long %s", (summary, ...parts) => {
    expect(summaryOf(...parts)).toBe(summary);
  });
});

describe("the summary of a job that nothing holds says its place in the line", () => {
  test.each<[string, ...Partial<ExplainedJob>[]]>([
    ["Next in line: it starts as soon as a node has room."],
    ["Next in line: it starts as soon as a worker asks for jobs and has room. One last called just now.", ASKED_FOR],
    [
      "Next in line: it starts as soon as a worker has room for it. All workers that ask for the queue's jobs hold some already.",
      ASKED_FOR,
      BUSY,
    ],
    ["Waiting in line behind 1 job. All workers that ask for the queue's jobs hold some already.", ASKED_FOR, BUSY, { ahead: 1 }],
    ["Next in line: it goes out as the probe of an open circuit.", openUntil(0)],
    ["Waiting in line behind 1 job.", { ahead: 1 }],
    ["Waiting in line behind more than 10000 jobs.", { ahead: 10_000, ahead_is_more: true }],
    ["Waiting in line behind 4 jobs. It should start in 2 min (2026-11-21T12:02:00.000Z).", { ahead: 4, finished_last_minute: 2 }],
  ])("the summary of a job that nothing holds says its place in the line %s", (summary, ...parts) => {
    expect(summaryOf(...parts)).toBe(summary);
  });
});

describe("the summary of a job that has started or finished says how it stands", () => {
  const finished = (state: ExplainedJob["state"], secondsAgo: number, attempt = 1): Partial<ExplainedJob> => ({
    state,
    attempt,
    finished_at: after(-secondsAgo),
  });
  const by = (who: string | null) => ({
    approval: JSON.stringify({ decision: "rejected", by: who, comment: null, decided_at: after(-5) }),
  });

  const ACTIVE: Partial<ExplainedJob> = { state: "active", attempt: 1, started_at: after(-40) };
  const LOST: Partial<ExplainedJob> = { claim_ended: true, claim_ends_at: after(-25) };

  test.each<[string, ...Partial<ExplainedJob>[]]>([
    ["Running: attempt 1 of 3 started just now.", { state: "active", attempt: 1, started_at: after(0) }],
    ["Running: attempt 2 of 3 started 59 s ago.", { state: "active", attempt: 2, started_at: after(-59.9) }],
    ["Running: attempt 1 of 3 started 10 min ago (2026-11-21T11:50:00.000Z).", { state: "active", attempt: 1, started_at: after(-600) }],
    [
      "Running: attempt 1 of 3 started 40 s ago. No node is alive and the last one renewed its lease 40 s ago. " +
        "The worker cannot report the outcome until one is.",
      ...[ACTIVE, NO_NODE, { worker: "w1" }],
    ],
    [
      'Attempt 1 of 3 started 40 s ago. The lease of its worker "w1" ended 25 s ago. A node ends the attempt as failed (LEASE_EXPIRED).',
      ...[ACTIVE, LOST, { worker: "w1" }],
    ],
    [
      "Attempt 1 of 3 started 40 s ago. Its node was lost: the lease ended 25 s ago. " +
        "A node takes the job back and starts it again. The lost attempt does not count.",
      ...[ACTIVE, LOST],
    ],
    [
      "Attempt 1 of 3 started 40 s ago. Its node was lost: the lease ended 25 s ago. " +
        "No node is alive and the last one renewed its lease 40 s ago. " +
        "The next node that starts takes the job back and starts it again. The lost attempt does not count.",
      ...[ACTIVE, LOST, NO_NODE],
    ],
    [
      "Attempt 1 of 3 started 40 s ago. Its node was lost: the lease ended 25 s ago. " +
        "A node moves it to the dead-letter queue, because 3 nodes in a row were lost with it.",
      ...[ACTIVE, LOST, { node_losses: 2 }],
    ],
    ["Completed 5 s ago, on attempt 2 of 3.", finished("completed", 5, 2)],
    ["Completed 5 s ago, on attempt 1 of 3.", finished("completed", 5, 4), { attempts: 6, spared: 3 }],
    [
      "Failed 5 s ago, after 3 of 3 attempts. The error was HTTP_STATUS: The handler responded with 500. It is in the dead-letter queue.",
      finished("failed", 5, 3),
      { job_error: ERROR },
    ],
    ["Completed 1 h 5 min ago (2026-11-21T10:55:00.000Z), on attempt 1 of 3.", finished("completed", 3_900)],
    [
      "Failed 2 days 3 h ago (2026-11-19T09:00:00.000Z), after 3 of 3 attempts. It is in the dead-letter queue.",
      finished("failed", 183_600, 3),
    ],
    ["Cancelled just now, before its first attempt.", finished("cancelled", 0, 0)],
    ["Cancelled 5 s ago, after 1 of 3 attempts.", finished("cancelled", 5)],
    ["Rejected 5 s ago.", finished("rejected", 5, 0), by(null)],
    ["Rejected 5 s ago by ada@example.com.", finished("rejected", 5, 0), by("ada@example.com")],
  ])("the summary of a job that has started or finished says how it stands %s", (summary, ...parts) => {
    const explained = explain(Object.assign({}, FREE, { paused: true }, ...parts), QUOTA);
    expect([explained.summary, explained.gates[0]?.message, explained.estimated_start]).toEqual([summary, summary, null]);
  });
});

/** What closes each gate, and the beginning of what is said of it. */
const CLOSED: Partial<Record<GateName, [Partial<ExplainedJob>, string]>> = {
  nodes: [NO_NODE, "no node is alive and the last one renewed its lease 40 s ago"],
  due: [{ state: "delayed", run_at: after(29), run_at_is_ahead: true }, "it is due in 29 s"],
  approval: [PENDING, "it has waited for approval since it was enqueued just now"],
  queue_paused: [{ paused: true }, "the queue is paused"],
  plan: [{ plan: "free" }, "the plan free does not include callbacks"],
  handler: [NO_HANDLER, "the queue has neither a callback_url nor a worker"],
  circuit: [openUntil(7), "the circuit is open (TIMEOUT) and the next probe goes out in 7 s"],
  key_concurrency: [KEY, "its concurrencyKey has 1 of 1 allowed jobs active"],
  queue_concurrency: [FULL, "the queue has 2 of 2 allowed jobs in flight"],
  rate_limit: [SPENT, "the queue has started 100 of 100 allowed attempts in the last 60 s and may start the next in 7 s"],
  workspace_share: [{ shares_used_up: ["delivery_slots"] }, "your workspace's share of this node's delivery slots is in use"],
};

test("any gates that hold together are named in one sentence, in their order, and each says the same of itself", () => {
  const gates = GATES.filter((gate) => CLOSED[gate]);
  let combinations = 0;
  for (let chosen = 1; chosen < 2 ** gates.length; chosen += 1) {
    const held = gates.filter((_, at) => chosen & (1 << at));
    // Without a handler there are no callbacks for a plan to stop, nor any that need a share of the node.
    if (held.includes("handler") && (held.includes("plan") || held.includes("workspace_share"))) continue;
    const explained = explain(Object.assign({}, FREE, ...held.map((gate) => CLOSED[gate]?.[0])), QUOTA);
    const reasons = held.map((gate) => CLOSED[gate]?.[1] ?? "");
    const last = reasons.length > 1 ? `and ${reasons.at(-1)}` : (reasons.at(-1) ?? "");
    expect(explained.held_by).toEqual(held);
    expect(explained.summary).toBe(`Not running: ${[...reasons.slice(0, -1), last].join(", ")}.`);
    for (const { gate, holds, message } of explained.gates) {
      const reason = CLOSED[gate]?.[1] ?? "";
      if (holds) expect(message).toBe(`${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`);
      expect(message).toMatch(/^[0-9A-Z].*[^.]\.$/);
      expect(message).not.toMatch(/null|undefined|NaN/);
    }
    combinations += 1;
  }
  expect(combinations).toBe(2 ** 11 - 1 - (2 ** 10 - 2 ** 8));
});
