import { expect } from "vitest";
import type { LaneKey } from "#lanes";
import { decisionsAcrossWorkspaces } from "../../src/approvals/decide-overdue.ts";
import { approvalQueue, approve } from "../harness/approvals.ts";
import { auditLog } from "../harness/audit.ts";
import { laneOf } from "../harness/engine.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { joinedBy, NEVER_POLL, testWith } from "../harness/nodes.ts";

// Nodes do not poll here. Everything happens because of wake-ups.
const test = testWith(NEVER_POLL);

// This test comes first: when a node stops, as in the next one, its peer looks at everything.
test("a timeout tells where jobs wait, when delayed ones are due, and how long until the next", async ({ service, engine, clock }) => {
  const settings = { approval: { timeout: 60, on_timeout: "approve" } };
  const [now, later, rejected] = [
    await approvalQueue(service, settings),
    await approvalQueue(service, settings),
    await approvalQueue(service, { approval: { timeout: 60 } }),
  ];
  await service.enqueue({ queue: now });
  const delayed = await service.enqueue({ queue: later, delay: 90 });
  await service.enqueue({ queue: rejected });
  const told: { lanes: LaneKey[]; dueMs: number[]; events: unknown[] } = { lanes: [], dueMs: [], events: [] };
  const deciding = {
    db: engine,
    audit: auditLog,
    clock,
    lockWaits: lockWaits(),
    emit: (event: string, fields: object = {}) => void told.events.push({ event, ...fields }),
    waker: {
      wake: (lanes: Iterable<LaneKey>) => void told.lanes.push(...lanes),
      wakeAt: (ms: number) => void told.dueMs.push(ms),
    },
  };
  const turns = decisionsAcrossWorkspaces(deciding);
  expect(await turns.round()).toBe(60_000);
  expect(told).toEqual({ lanes: [], dueMs: [], events: [] });
  await clock.advance(60);
  expect(await turns.round()).toBe(0);
  expect(await turns.round()).toBeUndefined();
  expect(told).toEqual({
    lanes: [await laneOf(service, now)],
    dueMs: [Date.parse(delayed.run_at)],
    events: [
      { event: "jobs_decided", decision: "approved", by: "timeout", count: 2 },
      { event: "jobs_decided", decision: "rejected", by: "timeout", count: 1 },
    ],
  });
});

test("an approved job starts at once, on a node that was told of it", async ({ service }) => {
  const other = await joinedBy(service, NEVER_POLL);
  const handler = await service.handler({ type: "approval" });
  const [one, two] = [await service.enqueue({ queue: handler.queue }), await service.enqueue({ queue: handler.queue })];
  await approve(service, one);
  await approve(other, two);
  await service.untilState(one, "completed");
  await service.untilState(two, "completed");
  await other.node.stop();
});
