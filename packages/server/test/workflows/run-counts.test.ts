import { describe, expect } from "vitest";
import { test } from "../harness/engine.ts";
import type { Service } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow, waitForRuns } from "../harness/workflows.ts";

/** How many runs a workflow has by status, as they are counted. It must be what there is. */
async function countsOf({ database }: Service, { id }: TestWorkflow): Promise<Record<string, number>> {
  const read = (from: string) =>
    database.query<{ status: string; runs: number }>(
      `select r.status, r.runs::int from (${from}) r join lane l on l.id = r.lane_id where l.kind = 'workflow' and l.name = $1 and r.runs <> 0
      order by 1`,
      [id],
    );
  const counted = await read("select lane_id, status::text, sum(runs) as runs from run_count_now group by 1, 2");
  expect(counted).toEqual(await read("select lane_id, status::text, count(*) as runs from run group by 1, 2"));
  return Object.fromEntries(counted.map(({ status, runs }) => [status, runs]));
}

const steps = (count: number) => Array.from({ length: count }, (_, n) => ({ key: `s${n}`, type: "run", status: "completed", output: n }));
const completed = (count: number) => ({ outcome: "completed", result: 1, steps: steps(count) });

describe("runs are counted by status", () => {
  test("from their start to their end, also when they complete a second time", async ({ service }) => {
    const flow = await putWorkflow(service);
    await flow.trigger();
    expect(await countsOf(service, flow)).toEqual({ pending: 1 });
    for (const count of [1, 0, 3]) {
      const run = await flow.take();
      expect(await countsOf(service, flow)).toEqual({ running: 1 });
      expect(await flow.end(run, completed(count))).toMatchObject({ ok: true });
      expect(await countsOf(service, flow)).toEqual({ completed: 1 });
      await service.database.query(
        "update run set status = 'failed', result = null where id in (select id from run where status = 'completed')",
      );
      expect(await countsOf(service, flow)).toEqual({ failed: 1 });
      await service.ok("POST", `/v1/runs/${run.runId}/retry`);
      expect(await countsOf(service, flow)).toEqual({ running: 1 });
    }
  });

  test("when several start and end together", async ({ service }) => {
    const flow = await putWorkflow(service);
    await Promise.all(Array.from({ length: 20 }, () => flow.trigger()));
    expect(await countsOf(service, flow)).toEqual({ pending: 20 });
    const { runs } = await flow.work({ workflows: [flow.id], limit: 20 });
    const settle = runs.map(({ runId, lease_token }, at) => ({ id: runId, lease_token, ...completed(at % 3) }));
    await flow.work({ settle: settle.slice(0, 15) });
    expect(await countsOf(service, flow)).toEqual({ running: 5, completed: 15 });
    await Promise.all(runs.slice(15).map(({ runId }) => service.ok("POST", `/v1/runs/${runId}/cancel`)));
    expect(await countsOf(service, flow)).toEqual({ cancelled: 5, completed: 15 });
  });

  test("when a worker waits for them", async ({ service, engine }) => {
    const flow = await putWorkflow(service);
    const call = await waitForRuns(engine, service, flow.id);
    await flow.trigger();
    expect((await call.response).runs).toHaveLength(1);
    expect(await countsOf(service, flow)).toEqual({ running: 1 });
  });

  test("by the triggers of the table, where a statement does not count them", async ({ service }) => {
    const flow = await putWorkflow(service);
    const id = await flow.trigger();
    // As a node of an earlier version does it.
    await service.database.query(
      `insert into run (workspace_id, lane_id, id, status, attempts, input, trigger, created_at)
      select workspace_id, lane_id, gen_random_uuid(), 'pending', 1, 'null', trigger, now() from run`,
    );
    expect(await countsOf(service, flow)).toEqual({ pending: 2 });
    await service.ok("POST", `/v1/runs/${id}/cancel`);
    expect(await countsOf(service, flow)).toEqual({ cancelled: 1, pending: 1 });
  });
});
