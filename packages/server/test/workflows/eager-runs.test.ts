import { randomUUID } from "node:crypto";
import { ServerResponse } from "node:http";
import type { TakenRun } from "@tidemill/contract";
import { describe, expect, vi } from "vitest";
import { type RunId, sql, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { storeTriggersAcrossWorkspaces, type TriggerToStore } from "../../src/workflows/triggers/trigger-store.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putNode } from "../harness/engine.ts";
import { insertJobs } from "../harness/jobs.ts";
import { hold, isWaiting } from "../harness/locks.ts";
import { NEVER_POLL, testWith } from "../harness/nodes.ts";
import { type Service, until } from "../harness/service.ts";
import { laneOfWorkflow, putWorkflow, waitForRuns } from "../harness/workflows.ts";

const test = testWith(NEVER_POLL);

/** How the statement begins that starts runs. */
const START = "select t.*, l.id as lane_id";

/** Whether the last writes of the newest run and of its job were one statement: so it was started eagerly for a worker. */
const wasStartedAsHeld = async (service: Service): Promise<boolean> => {
  const [newest] = await service.database.query<{ held: boolean }>(
    `select j.state = 'active' and j.xmin = r.xmin as held from run r join job j on j.workspace_id = r.workspace_id and j.id = r.id
     order by r.id desc limit 1`,
  );
  return newest?.held ?? false;
};

describe("a run that is started while a worker waits for it", () => {
  test("is held by the worker at once, and comes as one that is claimed", async ({ service, engine }) => {
    const { id, trigger, take, end, get } = await putWorkflow(service);
    await trigger({ input: { n: 1 } });
    const { runId: claimedId, lease_token: _, ...claimed } = await take({ version: "v1" });
    const { response } = await waitForRuns(engine, service, id, { version: "v1", request: "r1" });
    const runId = await trigger({ input: { n: 1 } });
    expect(await wasStartedAsHeld(service)).toBe(true);
    const { runs } = await response;
    const { lease_token, runId: heldId, ...held } = runs[0];
    expect([heldId, held]).toEqual([runId, claimed]);
    expect(heldId).not.toBe(claimedId);
    expect(await get(runId)).toMatchObject({ status: "running", version: "v1", attempt: 1, startedAt: expect.any(String) });
    const steps = [{ key: "a", type: "run", status: "completed", output: 1 }];
    expect(await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps })).toEqual({ steps: 1 });
    expect(await end(runs[0], { outcome: "completed", result: 2 })).toMatchObject({ ok: true });
    expect(await get(runId)).toMatchObject({ status: "completed", result: 2 });
  });

  test("reaches its worker before its trigger has a response", async ({ service, engine }) => {
    const { id, trigger } = await putWorkflow(service);
    const { response } = await waitForRuns(engine, service, id);
    const end = vi.spyOn(ServerResponse.prototype, "end");
    await trigger();
    await response;
    const ended = end.mock.contexts.map((response) => (response as ServerResponse).req.url);
    end.mockRestore();
    expect(ended).toEqual(["/v1/work", `/v1/workflows/${id}/trigger`]);
  });

  test("comes again when its call is repeated", async ({ service, engine }) => {
    const { id, trigger, work } = await putWorkflow(service);
    const { response } = await waitForRuns(engine, service, id, { request: "r1" });
    await trigger({});
    const { runs } = await response;
    expect(await wasStartedAsHeld(service)).toBe(true);
    expect((await work({ workflows: [id], request: "r1" })).runs).toEqual(runs);
  });

  test("fails an attempt when the lease of the worker ends", async ({ service, engine }) => {
    const { id, trigger, take, get } = await putWorkflow(service);
    const { response } = await waitForRuns(engine, service, id, { lease: 5 });
    const runId = await trigger({});
    expect((await response).runs).toMatchObject([{ runId, attempt: 1 }]);
    await service.advance(6);
    await until(async () => (await get(runId)).attempt === 2, "the lease to end");
    await service.advance(60);
    expect(await take()).toMatchObject({ runId, attempt: 2 });
  });

  test("is cancelled as any other", async ({ service, engine }) => {
    const { id, trigger, work } = await putWorkflow(service);
    const { response } = await waitForRuns(engine, service, id);
    const runId = await trigger({});
    const [{ lease_token }] = (await response).runs;
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    const steps = [{ key: "a", type: "run", status: "completed", output: 1 }];
    const refused = await service.api("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });
    expect([refused.status, refused.body.error.code]).toEqual([409, "LEASE_LOST"]);
    expect((await work({ workflows: [id] })).cancelled).toEqual([runId]);
  });

  test("goes to another worker without an attempt when the client of the first is gone", async ({ service, engine }) => {
    const { id, trigger, take } = await putWorkflow(service);
    const { leave } = await waitForRuns(engine, service, id);
    // Another trigger takes the same key, and fails: its run does not exist.
    const { workspaceId, laneId } = await laneOfWorkflow(service, id);
    const key = hold(engine, sql`insert into run_key values (${workspaceId}, ${laneId}, 'k', gen_random_uuid())`);
    await key.held;
    const starting = trigger({ idempotencyKey: "k" });
    await until(() => isWaiting(service.database, START), "the trigger to wait");
    await leave();
    await expect(key.release()).rejects.toThrow();
    const runId = await starting;
    expect(await take({ worker: "w2" })).toMatchObject({ runId, attempt: 1 });
  });

  test("takes nothing that the worker has no room for: the others come with the next call, in their order", async ({ service, engine }) => {
    const { id, work } = await putWorkflow(service);
    const { response } = await waitForRuns(engine, service, id, { limit: 2 });
    const triggers = Array.from({ length: 5 }, (_, input) => ({ input }));
    await service.ok("POST", `/v1/workflows/${id}/trigger/batch`, { triggers });
    const inputs = ({ runs }: { readonly runs: readonly TakenRun[] }) => runs.map(({ input }) => input);
    expect(inputs(await response)).toEqual([0, 1]);
    expect(inputs(await work({ workflows: [id], limit: 10 }))).toEqual([2, 3, 4]);
  });

  test("has its input, however long it is, with secrets filled in", async ({ service, engine }) => {
    await service.ok("POST", "/v1/secrets", { name: "HELD_KEY", value: "sk_live_4eC39HqLyjWDarjtT1zdp7dc" });
    const { id, trigger } = await putWorkflow(service);
    const { response } = await waitForRuns(engine, service, id);
    const text = "x".repeat(20_000);
    await trigger({ input: { text, key: "${{ secrets.HELD_KEY }}" } });
    expect((await response).runs).toMatchObject([{ input: { text, key: "sk_live_4eC39HqLyjWDarjtT1zdp7dc" } }]);
    expect(await wasStartedAsHeld(service)).toBe(true);
  });

  test("is not held while workers of two versions ask for runs", async ({ service, engine }) => {
    const { id, trigger, work } = await putWorkflow(service);
    await work({ worker: "old", workflows: [id], version: "v1" });
    const { response } = await waitForRuns(engine, service, id, { version: "v2" });
    const runId = await trigger({});
    expect((await response).runs).toMatchObject([{ runId, version: "v2" }]);
    expect(await wasStartedAsHeld(service)).toBe(false);
  });
});

describe("a run is started eagerly only", () => {
  interface Case {
    /** Changes what a trigger finds of its lane. */
    readonly prepare?: (database: TestDatabase, lane: readonly [WorkspaceId, LaneId]) => Promise<unknown>;
    readonly more?: Partial<TriggerToStore>;
    readonly isAlive?: boolean;
    readonly held: boolean;
  }
  const change =
    (text: string): Required<Case>["prepare"] =>
    (database, lane) =>
      database.query(text, [...lane]);
  const cases: Record<string, Case> = {
    "if nothing is in its way": { held: true },
    "when it is due": { more: { dueMs: Date.parse("2999-01-01") }, held: false },
    "if no job of its lane waits": {
      prepare: (database, lane) =>
        insertJobs(
          database,
          `insert into job (workspace_id, lane_id, id, kind, state, priority, attempts, backoff_delay_ms, run_at, created_at, payload)
           values ($1, $2, gen_random_uuid(), 'run', 'waiting', 0, 1, 0, moment(), moment(), '{}')`,
          [...lane],
        ),
      held: false,
    },
    "if its lane has no limit": { prepare: change("update lane set concurrency = 1 where workspace_id = $1 and id = $2"), held: false },
    "if its lane is not paused": { prepare: change("update lane set paused = true where workspace_id = $1 and id = $2"), held: false },
    "if workers serve its lane": { prepare: change("update lane set served = 'push' where workspace_id = $1 and id = $2"), held: false },
    "if the circuit is closed": {
      prepare: change("insert into circuit (workspace_id, lane_id, revision, probe_at, last_error) values ($1, $2, 1, moment(), '{}')"),
      held: false,
    },
    "while its node has a lease": { isAlive: false, held: false },
  };
  const ways = Object.entries(cases).flatMap(([name, one]) => [false, true].map((isAlone) => ({ name, isAlone, ...one })));
  for (const { name, isAlone, prepare, more, isAlive = true, held } of ways)
    test(`${name}: ${isAlone ? "a trigger alone" : "one among others"}`, async ({ service, engine, database }) => {
      const { id } = await putWorkflow(service);
      const lane = await laneOfWorkflow(service, id);
      await prepare?.(database, [lane.workspaceId, lane.laneId]);
      const node = await putNode(database, { alive: isAlive });
      const worker = await putNode(database);
      const holder = { ...lane, leaseId: worker, leaseSeconds: 30, request: "r", version: null };
      const trigger: TriggerToStore = {
        ...{
          workspaceId: lane.workspaceId,
          id: randomUUID() as RunId,
          workflow: id,
          input: "1",
          idempotencyKey: null,
          dueMs: null,
          holder,
        },
        ...more,
      };
      const others = isAlone ? [] : [{ ...trigger, id: randomUUID() as RunId, workflow: "none" }];
      const [stored] = await storeTriggersAcrossWorkspaces(engine, node, [trigger, ...others]);
      expect(stored).toMatchObject({ runId: trigger.id, isHeld: held });
      const [run] = await database.query("select status from run where id = $1", [trigger.id]);
      expect(run).toEqual({ status: held ? "running" : "pending" });
    });
});
