import type { TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { sql, uuidOf } from "#kernel";
import { type LaneKey, markLaneDeleted } from "#lanes";
import { sweepDeletedLanesAcrossWorkspaces } from "#retention";
import { test as base } from "../harness/engine.ts";
import { inTurn } from "../harness/in-turn.ts";
import { HOUR_MS, type Invoking, invoke, invoking } from "../harness/invoking.ts";
import { limitedTo } from "../harness/limits.ts";
import { within } from "../harness/overlap.ts";
import { newWorkspace, Service } from "../harness/service.ts";
import { laneOfWorkflow, putWorkflow } from "../harness/workflows.ts";

/** A run that has invoked another one, and waits for it. */
const test = base.extend<"flow", Invoking>("flow", ({ service }) => invoking(service));

const stepOf = ({ journal }: TakenRun) => journal.find(({ key }) => key === "bill");

describe("a run that has invoked a workflow", () => {
  test("waits for it, and both say so", async ({ flow: { parent, child, parentId, childId } }) => {
    expect(await parent.get(parentId)).toMatchObject({
      status: "waiting",
      waitingFor: [{ type: "invoke", step: "bill", runId: childId, timeoutAt: expect.any(String) }],
      steps: [{ key: "bill", type: "invoke", status: "waiting", output: { runId: childId } }],
    });
    const trigger = { type: "invoke", runId: parentId, step: "bill" };
    expect(await child.get(childId)).toMatchObject({ status: "pending", input: { n: 1 }, trigger, parentRunId: parentId });
  });

  test("goes on with its result and its id (Workflow behavior 1)", async ({ flow: { parent, child, parentId, childId } }) => {
    const next = parent.take();
    await child.end(await child.take(), { outcome: "completed", result: { paid: true } });
    const run = await next;
    expect(run.runId).toBe(parentId);
    expect(stepOf(run)).toMatchObject({ status: "completed", output: { result: { paid: true }, runId: childId } });
  });

  test("goes on with an error when it fails", async ({ flow: { parent, child, childId } }) => {
    await child.end(await child.take(), { outcome: "failed", error: "Declined.", error_name: "CardError" });
    expect(stepOf(await parent.take())).toMatchObject({
      status: "failed",
      output: { runId: childId },
      error: { name: "WorkflowFailedError", message: `The run of "${child.id}" failed: CardError: Declined.` },
    });
  });

  test("waits for its next attempt though the other one ends meanwhile", async ({ service, flow: { parent, child, parentId } }) => {
    const failing = await parent.trigger();
    const run = await parent.take();
    await invoke(service, run, child.id);
    await parent.end(run, { outcome: "failed", error: "No.", retry_in: 3_600 });
    await child.end(await child.take(), { outcome: "completed" });
    expect((await parent.take()).runId).toBe(parentId);
    await child.end(await child.take(), { outcome: "completed" });
    expect(await parent.get(failing)).toMatchObject({ status: "running", attempt: 2, nextAttemptAt: expect.any(String) });
    expect((await parent.work({ workflows: [parent.id] })).runs).toEqual([]);
    await service.advance(3_700);
    expect(stepOf(await parent.take())).toMatchObject({ status: "completed" });
  });

  test("goes on with the message of the innermost run that failed", async ({ flow: { parent, child, childId } }) => {
    const message = 'The run of "card.charge" failed: CardError: Declined.';
    await child.end(await child.take(), { outcome: "failed", error: message, error_name: "WorkflowFailedError" });
    const error = { name: "WorkflowFailedError", message };
    expect(stepOf(await parent.take())).toMatchObject({ status: "failed", output: { runId: childId }, error });
  });

  test("goes on with an error when the timeout passes, and the invoked run goes on (Workflow behavior 2)", async ({
    service,
    flow: { parent, child, childId },
  }) => {
    const held = await child.take({ lease: 2 * 3_600 });
    await service.advance(3_601);
    expect(stepOf(await parent.take())).toMatchObject({ status: "failed", error: { name: "WorkflowTimeoutError" } });
    expect(await child.end(held, { outcome: "completed", result: 1 })).toMatchObject({ ok: true });
    expect(await child.get(childId)).toMatchObject({ status: "completed" });
  });

  test("that it no longer waits for is cancelled by its own id, and by nothing else (Workflow behavior 2)", async ({
    service,
    flow: { parent, child, parentId, childId },
  }) => {
    await service.advance(3_601);
    await parent.end(await parent.take(), { outcome: "completed" });
    expect(await child.get(childId)).toMatchObject({ status: "pending", parentRunId: parentId });
    await service.ok("POST", `/v1/runs/${childId}/cancel`);
    expect(await child.get(childId)).toMatchObject({ status: "cancelled" });
    expect(await parent.get(parentId)).toMatchObject({ status: "completed" });
  });

  test("goes on with an error when it is cancelled (Workflow behavior 3)", async ({ service, flow: { parent, child, childId } }) => {
    const next = parent.take();
    await service.ok("POST", `/v1/runs/${childId}/cancel`);
    const message = `The run of "${child.id}" was cancelled.`;
    expect(stepOf(await next)).toMatchObject({ status: "failed", error: { name: "WorkflowCancelledError", message } });
  });

  test("goes on with an error when it is deleted with its workflow", async ({ service, engine, flow: { parent, child, parentId } }) => {
    const woken: LaneKey[] = [];
    const { workspaceId } = await laneOfWorkflow(service, child.id);
    // In one transaction: the node's own sweep finds what has been committed.
    await engine.transaction(async (tx) => {
      await markLaneDeleted(tx, workspaceId, "workflow", child.id);
      await sweepDeletedLanesAcrossWorkspaces(within(tx), (lanes) => void woken.push(...lanes));
    });
    // Workers that wait for runs of the parent are told.
    expect(woken).toEqual([await laneOfWorkflow(service, parent.id)]);
    expect(stepOf(await parent.take())).toMatchObject({
      status: "failed",
      error: { name: "WorkflowCancelledError", message: "The run was deleted with its workflow." },
    });
    // Not when it would have timed out.
    expect((await parent.get(parentId)).steps).toMatchObject([{ key: "bill", endedAt: new Date(service.clock.nowMs()).toISOString() }]);
  });

  test("leaves it alone when it is cancelled itself", async ({ service, flow: { child, parentId, childId } }) => {
    await service.ok("POST", `/v1/runs/${parentId}/cancel`);
    expect(await child.end(await child.take(), { outcome: "completed" })).toMatchObject({ ok: true });
    expect(await child.get(childId)).toMatchObject({ status: "completed" });
  });

  test.for(["cancel", "end"] as const)(
    "is cancelled as the invoked run ends, and both have ended once: the %s is first",
    async (first, { service, engine, flow: { parent, child, parentId, childId } }) => {
      const held = await child.take();
      const [cancels, ends]: [Promise<{ status: number }>[], Promise<{ ok: boolean }>[]] = [[], []];
      const steps = [
        () => void cancels.push(service.api("POST", `/v1/runs/${parentId}/cancel`)),
        () => void ends.push(child.end(held, { outcome: "completed", result: 1 })),
      ];
      const lockParent = sql`select from job where id = ${uuidOf("run", parentId)} for update`;
      await inTurn(engine, lockParent, first === "cancel" ? steps : steps.toReversed());
      expect(await Promise.all(cancels)).toMatchObject([{ status: 200 }]);
      expect(await Promise.all(ends)).toMatchObject([{ ok: true }]);
      expect(await parent.get(parentId)).toMatchObject({ status: "cancelled" });
      expect(await child.get(childId)).toMatchObject({ status: "completed", result: 1 });
      expect((await parent.work({ workflows: [parent.id] })).runs).toEqual([]);
    },
  );

  test("finds the result when it is retried", async ({ service, flow: { parent, child, parentId } }) => {
    await service.ok("POST", `/v1/runs/${parentId}/cancel`);
    await child.end(await child.take(), { outcome: "completed", result: 7 });
    await service.ok("POST", `/v1/runs/${parentId}/retry`);
    expect(stepOf(await parent.take())).toMatchObject({ status: "completed", output: { result: 7 } });
  });

  test("is not woken by a run that it no longer waits for", async ({ service, flow: { parent, child, parentId } }) => {
    await service.advance(3_601);
    await parent.end(await parent.take(), {
      outcome: "suspended",
      steps: [{ key: "nap", type: "sleep", status: "waiting", sleepFor: HOUR_MS }],
    });
    await child.end(await child.take(), { outcome: "completed" });
    expect((await parent.work({ workflows: [parent.id] })).runs).toEqual([]);
    expect(await parent.get(parentId)).toMatchObject({ status: "sleeping" });
  });
});

describe("an invocation", () => {
  test("that ends before its run is suspended is seen at once", async ({ service }) => {
    const [parent, child] = [await putWorkflow(service), await putWorkflow(service)];
    await parent.trigger();
    const run = await parent.take();
    await invoke(service, run, child.id);
    await child.end(await child.take(), { outcome: "completed", result: 1 });
    await parent.end(run, { outcome: "suspended", steps: [] });
    expect(stepOf(await parent.take())).toMatchObject({ status: "completed", output: { result: 1 } });
  });

  test("that is repeated starts nothing more", async ({ service }) => {
    const [parent, child] = [await putWorkflow(service), await putWorkflow(service)];
    await parent.trigger();
    const run = await parent.take();
    const replies = await Promise.all([1, 2, 3].map(() => invoke(service, run, child.id)));
    expect(new Set(replies.map(({ body }) => body.runId)).size).toBe(1);
    expect((await child.work({ workflows: [child.id], limit: 10 })).runs).toHaveLength(1);
  });

  test("of a workflow that is not there, without a timeout of at most 24 hours (Workflow behavior 1), or under a lost lease starts nothing", async ({
    service,
  }) => {
    const [parent, child] = [await putWorkflow(service), await putWorkflow(service)];
    const parentId = await parent.trigger();
    const run = await parent.take();
    expect((await invoke(service, run, "missing")).body.error).toMatchObject({ code: "NOT_FOUND", details: { resource: "workflow" } });
    for (const timeout of [undefined, 0, 24 * HOUR_MS + 1, "1h"])
      expect((await invoke(service, run, child.id, { timeout })).body.error.details.issues[0].path).toBe("timeout");
    const other = new Service(service.node, service.database, service.clock, await newWorkspace(service.database));
    expect((await invoke(other, run, child.id)).status).toBe(404);
    await service.ok("POST", `/v1/runs/${parentId}/cancel`);
    expect((await invoke(service, run, child.id)).body.error.code).toBe("LEASE_LOST");
    expect((await service.ok("GET", `/v1/runs?workflowId=${child.id}`)).data).toEqual([]);
  });

  test("counts as an execution", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 2 });
    const [parent, child] = [await putWorkflow(limited), await putWorkflow(limited)];
    await parent.trigger();
    const run = await parent.take();
    expect((await invoke(limited, run, child.id)).status).toBe(200);
    const { status, body } = await invoke(limited, run, child.id, { key: "again" });
    expect([status, body.error.code]).toEqual([402, "QUOTA_EXCEEDED"]);
  });

  test("has a limit in a row, and the error names the workflows that invoke one another", async ({ service }) => {
    const [first, one, two] = [await putWorkflow(service), await putWorkflow(service), await putWorkflow(service)];
    await first.trigger();
    const row = [first, ...Array.from({ length: 8 }, () => [one, two]).flat(), one];
    const last = row.at(-2);
    for (const [depth, workflow] of row.slice(0, -2).entries())
      expect((await invoke(service, await workflow.take(), row[depth + 1]?.id ?? "")).status).toBe(200);
    const { status, body } = await invoke(service, await (last ?? one).take(), one.id);
    const cycle = `${one.id} → ${two.id} → ${one.id}`;
    expect([status, body.error.message]).toEqual([409, `At most 16 runs may have invoked one another in a row: ${cycle}.`]);
    expect(body.error.details).toEqual({ reason: "InvokedTooDeep", workflows: row.map(({ id }) => id) });
  });

  test("has one winner when its run ends as it is cancelled", async ({ service, flow: { parent, child, childId } }) => {
    const held = await child.take();
    const [settled, cancelled] = await Promise.all([
      child.end(held, { outcome: "completed", result: 1 }),
      service.api("POST", `/v1/runs/${childId}/cancel`),
    ]);
    const won = settled.ok ? "completed" : "failed";
    expect(cancelled.status).toBe(settled.ok ? 409 : 200);
    expect(stepOf(await parent.take())).toMatchObject({ status: won });
  });

  test("is woken by many runs that end at once", async ({ service }) => {
    const [parent, child] = [await putWorkflow(service), await putWorkflow(service)];
    const ids = await Promise.all(Array.from({ length: 20 }, () => parent.trigger()));
    for (const run of (await parent.work({ workflows: [parent.id], limit: 20 })).runs) {
      await invoke(service, run, child.id, { key: "a" });
      await invoke(service, run, child.id, { key: "b" });
      await parent.end(run, { outcome: "suspended", steps: [] });
    }
    const { runs } = await child.work({ workflows: [child.id], limit: 40 });
    await Promise.all(runs.map((run) => child.end(run, { outcome: "completed", result: run.runId })));
    const done = await parent.work({ workflows: [parent.id], limit: 20, wait: 10 });
    expect(done.runs.map(({ runId }) => runId).sort()).toEqual(ids.sort());
    for (const { journal } of done.runs) expect(journal.map(({ status }) => status)).toEqual(["completed", "completed"]);
  });
});
