import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import { test } from "../harness/engine.ts";
import type { Service } from "../harness/service.ts";
import { miscountedRuns, putWorkflow, type TestWorkflow, waitForRuns } from "../harness/workflows.ts";

/** How many runs a workflow has by status, as they are counted. It must be what there is. */
async function countsOf(service: Service, { id }: TestWorkflow): Promise<Record<string, number>> {
  expect(await miscountedRuns(service)).toEqual([]);
  const counted = await service.database.query<{ status: string; runs: number }>(
    `select c.status, sum(c.runs)::int as runs from run_count_now c join lane l on l.id = c.lane_id where l.kind = 'workflow' and l.name = $1
    group by 1 having sum(c.runs) <> 0`,
    [id],
  );
  return Object.fromEntries(counted.map(({ status, runs }) => [status, runs]));
}

const SOURCES = fileURLToPath(new URL("../../src/workflows", import.meta.url));

const steps = (count: number) => Array.from({ length: count }, (_, n) => ({ key: `s${n}`, type: "run", status: "completed", output: n }));
const completed = (count: number) => ({ outcome: "completed", result: 1, steps: steps(count) });

test("statements that leave counting to no trigger count", () => {
  const sources = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const found = sources.flatMap((name) => {
    const text = readFileSync(path.join(SOURCES, name), "utf8");
    const marks = text.match(/count_mark( = not r\.count_mark|\)\n)/g)?.length ?? 0;
    const counts = text.match(/\$\{COUNT_(STARTED|COMPLETED)_RUNS?(_ALONE)?\}/g)?.length ?? 0;
    return marks + counts > 0 ? [[path.basename(name), marks, counts]] : [];
  });
  expect(found).toEqual([
    ["complete-store.ts", 2, 2],
    ["trigger-store.ts", 2, 2],
  ]);
});

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
