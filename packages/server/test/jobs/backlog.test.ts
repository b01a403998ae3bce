import { expect, test } from "vitest";
import { DatabaseClock, type Db, SharedResource, systemRandom, type Transactional, UuidSource, type WorkspaceId } from "#kernel";
import { type EnqueueEngine, Enqueuer } from "../../src/jobs/enqueue.ts";
import type { NewJob } from "../../src/jobs/new-job.ts";

const [busy, other] = ["busy", "other"] as WorkspaceId[] as [WorkspaceId, WorkspaceId];
const JOB: NewJob = {
  payload: "1",
  delaySeconds: 0,
  runAtMs: null,
  tag: null,
  priority: 0,
  concurrencyKey: null,
  attempts: null,
  backoffDelayMs: null,
  idempotency: null,
  trace: null,
};
const OUTLET: EnqueueEngine = {
  leaseId: null,
  roomFor: () => 0,
  expecting: (_ids, write) => write(),
  take: () => {},
  wake: () => {},
  wakeAt: () => {},
  wakePulled: () => {},
  wakeWorkflows: () => {},
};

/** An enqueuer whose database answers when a test lets it, that no queue exists. */
function held() {
  const backlog = new SharedResource({ name: "enqueue_backlog", capacity: 100, maxWaitMs: 1 });
  const writes: (() => void)[] = [];
  const db: Db = {
    query: ({ values }) =>
      new Promise((resolve) => {
        const queues = String(values[1]).slice(1, -1).split(",");
        writes.push(() => resolve({ rows: queues.map(() => ({})) }));
      }),
  };
  const enqueuer = new Enqueuer({
    db: db as Transactional,
    ids: new UuidSource(new DatabaseClock(), systemRandom),
    outlet: OUTLET,
    emit: () => {},
    backlog,
  });
  const enqueue = (workspaceId: WorkspaceId, jobs: number) =>
    enqueuer.enqueue({ workspaceId, executionsPerMonth: null }, "emails", Array<NewJob>(jobs).fill(JOB));
  return { backlog, writes, enqueue };
}

test("a workspace that fills its share of the backlog is refused in words, and another workspace is not", async () => {
  const { backlog, enqueue } = held();
  for (let batch = 0; batch < 3; batch += 1) void enqueue(busy, 25).catch(() => {});
  await expect(enqueue(busy, 25)).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: "Your workspace's share of this node's room for jobs that wait to be stored is in use. Try again later.",
    headers: { "Retry-After": "1" },
  });
  void enqueue(other, 10).catch(() => {});
  expect(backlog.total).toBe(85);
});

test("a write that fails releases its part of the backlog", async () => {
  const { backlog, enqueue } = held();
  const failing = new Enqueuer({
    db: { query: () => Promise.reject(new Error("broken")) } as unknown as Transactional,
    ids: new UuidSource(new DatabaseClock(), systemRandom),
    outlet: OUTLET,
    emit: () => {},
    backlog,
  });
  await expect(failing.enqueue({ workspaceId: busy, executionsPerMonth: null }, "emails", [JOB])).rejects.toThrow("broken");
  expect(backlog.total).toBe(0);
  void enqueue(busy, 1).catch(() => {});
  expect(backlog.total).toBe(1);
});
