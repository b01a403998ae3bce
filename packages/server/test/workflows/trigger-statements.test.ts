import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { type Db, Fragment, type RunId, rows, sql } from "#kernel";
import { storeTriggersAcrossWorkspaces, type TriggerToStore } from "../../src/workflows/triggers/trigger-store.ts";
import { putNode, test } from "../harness/engine.ts";
import { keepingValues } from "../harness/statements.ts";
import { laneOfWorkflow, putWorkflow } from "../harness/workflows.ts";

/** Columns that differ from run to run. */
const OWN = ["id", "run_id", "lane_id", "key", "idempotency_key", "xmin", "lease_id", "open_lease_id"];

async function rowsOf(db: Db, laneId: number): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const table of ["run", "job", "run_key", "run_delta", "job_delta", "usage_delta"]) {
    const ofLane = await rows<{ row: Record<string, unknown> }>(
      db,
      sql`select to_jsonb(t) as row from ${new Fragment(table)} t where lane_id = ${laneId}`,
    );
    found[table] = ofLane.map(({ row }) => Object.fromEntries(Object.entries(row).filter(([name]) => !OWN.includes(name))));
  }
  return found;
}

describe("a trigger alone", () => {
  test.for<{ what: string; more: Partial<TriggerToStore>; isHeld: boolean }>([
    { what: "of a run that waits", more: {}, isHeld: false },
    { what: "with a key", more: { idempotencyKey: "k" }, isHeld: false },
    { what: "that is due later", more: { dueMs: Date.parse("2999-01-01") }, isHeld: false },
    { what: "for which a worker waits", more: { idempotencyKey: "k" }, isHeld: true },
  ])("$what stores what it stores among others", async ({ more, isHeld }, { service, engine, database }) => {
    const node = await putNode(database);
    const stored: unknown[] = [];
    for (const others of [[], [{ workflow: "none" }]]) {
      const { id: workflow } = await putWorkflow(service);
      const lane = await laneOfWorkflow(service, workflow);
      const holder = isHeld ? { ...lane, leaseId: await putNode(database), leaseSeconds: 30, request: "r", version: "v1" } : null;
      const trigger = {
        workspaceId: lane.workspaceId,
        id: randomUUID() as RunId,
        workflow,
        input: '{"n":1}',
        idempotencyKey: null,
        dueMs: null,
        holder,
      };
      const asked = [{}, ...others].map((one) => ({ ...trigger, ...more, ...one }));
      // The node folds what has been committed.
      await engine.transaction(async (tx) => {
        const [first, second] = await storeTriggersAcrossWorkspaces(tx, node, asked);
        expect(second ?? null).toBeNull();
        const { laneId, runId, ...rest } = first ?? {};
        expect([laneId, runId]).toEqual([lane.laneId, trigger.id]);
        stored.push([rest, await rowsOf(tx, lane.laneId)]);
      });
    }
    expect(stored[0]).toEqual(stored[1]);
    expect(stored[0]).toMatchObject([
      { isHeld },
      { run: [{ input: '{"n":1}' }], job: [{}], run_delta: [{}], job_delta: [{}], usage_delta: [{}] },
    ]);
  });

  test("finds the run that has its key, and starts none", async ({ service, engine }) => {
    const { id: workflow } = await putWorkflow(service);
    const { workspaceId, laneId } = await laneOfWorkflow(service, workflow);
    const trigger = { workspaceId, workflow, input: "1", idempotencyKey: "k", dueMs: null, holder: null };
    const ids = [randomUUID(), randomUUID()] as RunId[];
    await engine.transaction(async (tx) => {
      const stored = [];
      for (const id of ids) stored.push(...(await storeTriggersAcrossWorkspaces(tx, null, [{ ...trigger, id }])));
      expect(stored.map((one) => one?.runId)).toEqual([ids[0], ids[0]]);
      expect(await rowsOf(tx, laneId)).toMatchObject({ run: [{}], job: [{}], run_key: [{}], usage_delta: [{}] });
    });
  });

  test("of a workflow that is not there starts nothing", async ({ service, engine }) => {
    const { id } = await putWorkflow(service);
    const { workspaceId } = await laneOfWorkflow(service, id);
    const trigger = {
      workspaceId,
      id: randomUUID() as RunId,
      workflow: "none",
      input: "1",
      idempotencyKey: "k",
      dueMs: null,
      holder: null,
    };
    expect(await storeTriggersAcrossWorkspaces(engine, null, [trigger])).toEqual([null]);
  });

  test.for([
    { length: 100, isWhole: true },
    { length: 3_000_000, isWhole: false },
  ])("has its input of $length characters, sent whole: $isWhole", async ({ length, isWhole }, { service, engine }) => {
    const { id: workflow } = await putWorkflow(service);
    const { workspaceId } = await laneOfWorkflow(service, workflow);
    const { db, sent } = keepingValues(engine);
    const input = JSON.stringify("é".repeat(length));
    const id = randomUUID() as RunId;
    await storeTriggersAcrossWorkspaces(db, null, [{ workspaceId, id, workflow, input, idempotencyKey: null, dueMs: null, holder: null }]);
    expect(sent.includes(input)).toBe(isWhole);
    expect(await service.database.query("select input = $2 as same from run where id = $1", [id, input])).toEqual([{ same: true }]);
  });
});
