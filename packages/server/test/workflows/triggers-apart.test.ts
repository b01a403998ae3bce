import { describe, expect } from "vitest";
import { type Database, DatabaseClock, SharedResource, sql, systemRandom, type Transactional, UuidSource, unavailable } from "#kernel";
import type { LaneKey } from "#lanes";
import { Triggers } from "../../src/workflows/triggers/triggers.ts";
import type { WaitingWorkers } from "../../src/workflows/triggers/waiting-workers.ts";
import { test } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { laneOfWorkflow, putWorkflow } from "../harness/workflows.ts";

const noWorkers: WaitingWorkers = { nodeLeaseId: null, handOver: async (write) => (await write(() => null)).result };

/** Starts runs with a database whose transactions fail: single statements succeed. */
function triggersOn(engine: Database, { workspaceId }: LaneKey, workflow: string) {
  const db: Transactional = {
    query: (statement) => engine.query(statement),
    transaction: () => Promise.reject(unavailable("The database is away.")),
  };
  const backlog = new SharedResource({ name: "enqueue_backlog", capacity: 100 });
  const triggers = new Triggers({
    db,
    ids: new UuidSource(new DatabaseClock(), systemRandom),
    backlog,
    emit: () => {},
    waitingWorkers: noWorkers,
  });
  return (idempotencyKey: string | null, executionsPerMonth: number | null = null) =>
    triggers.start({ workspaceId, executionsPerMonth }, { workflow, input: "1", idempotencyKey, dueMs: null });
}

describe("a trigger with a key", () => {
  test("starts its run though one of a workspace with a quota fails at the same time", async ({ service, engine }) => {
    const { id } = await putWorkflow(service);
    const start = triggersOn(engine, await laneOfWorkflow(service, id), id);
    const [limited, keyed] = await Promise.allSettled([start(null, 5), start("k")]);
    expect([limited, keyed]).toMatchObject([{ reason: { code: "UNAVAILABLE" } }, { value: { duplicate: false } }]);
  });

  test("starts its run though it cannot be found out what another key names", async ({ service, engine }) => {
    const { id, trigger } = await putWorkflow(service);
    const lane = await laneOfWorkflow(service, id);
    const start = triggersOn(engine, lane, id);
    await trigger();
    // Another trigger is taking the key.
    const { workspaceId, laneId } = lane;
    const key = sql`insert into run_key (workspace_id, lane_id, key, run_id)
      select workspace_id, lane_id, 'k', id from run where workspace_id = ${workspaceId} and lane_id = ${laneId}`;
    const taking = hold(engine, key);
    await taking.held;
    const outcomes = Promise.allSettled([start("k"), start("other")]);
    await taking.untilWaiting(1);
    await taking.release();
    expect(await outcomes).toMatchObject([{ reason: { code: "UNAVAILABLE" } }, { value: { duplicate: false } }]);
  });
});
