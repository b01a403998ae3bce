import type { TakenRun, WorkResponse } from "@tidemill/contract";
import { describe, expect, onTestFinished } from "vitest";
import { joinedBy, NEVER_POLL, testWith } from "../harness/nodes.ts";
import { type Service, until } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow, waitForRuns } from "../harness/workflows.ts";

// The nodes never poll: what a worker gets, it gets because of a wake-up.
const test = testWith(NEVER_POLL).extend("other", async ({ service }, { onCleanup }): Promise<Service> => {
  const other = await joinedBy(service, { ...NEVER_POLL, TIDEMILL_DRAIN_SECONDS: "0" });
  onCleanup(() => other.node.stop());
  return other;
});

/** Executes runs as anybody's worker does. A call that got no response is repeated, at the next of the nodes. Returns the runs that it got. */
function startWorker(worker: string, workflow: string, nodes: readonly Service[]): readonly TakenRun[] {
  const got: TakenRun[] = [];
  let isStopped = false;
  const call = async (body: object): Promise<WorkResponse["runs"]> => {
    for (let at = 0; !isStopped; at += 1) {
      const reply = await nodes[at % nodes.length]?.api("POST", "/v1/work", body).catch(() => null);
      if (reply?.status === 200) return reply.body.runs;
    }
    return [];
  };
  const work = async () => {
    let settle: object[] = [];
    for (let request = 1; !isStopped; request += 1) {
      const runs = await call({ worker, queues: [], workflows: [workflow], limit: 2, wait: 1, request: `${request}`, settle });
      got.push(...runs);
      settle = runs.map(({ runId: id, lease_token }) => ({ id, lease_token, outcome: "completed", result: id }));
    }
  };
  const done = work();
  onTestFinished(() => {
    isStopped = true;
    return done;
  });
  return got;
}

const triggerMany = async (node: Service, { id }: TestWorkflow, count: number): Promise<string[]> => {
  const triggers = Array.from({ length: count }, (_, input) => ({ input }));
  const { triggered } = await node.ok("POST", `/v1/workflows/${id}/trigger/batch`, { triggers });
  return triggered.flatMap(({ runIds }: { runIds: string[] }) => runIds);
};

/** Waits until runs are completed. Each was executed once. */
async function expectExecutedOnce({ get }: TestWorkflow, runIds: readonly string[], workers: readonly (readonly TakenRun[])[]) {
  for (const runId of runIds) {
    await until(async () => (await get(runId)).status === "completed", `the run ${runId} to complete`);
    expect(await get(runId)).toMatchObject({ attempt: 1, result: runId });
  }
  expect(workers.flatMap((got) => got.map(({ runId }) => runId)).toSorted()).toEqual(runIds.toSorted());
}

describe("a run that is triggered on one node while a worker waits at the other", () => {
  test("goes to that worker at once, not when its call ends", async ({ service, other, engine }) => {
    const workflow = await putWorkflow(service);
    const { response } = await waitForRuns(engine, other, workflow.id);
    const runId = await workflow.trigger({ input: 1 });
    const { runs } = await response;
    expect(runs).toMatchObject([{ runId, input: 1, attempt: 1 }]);
    expect(await workflow.end(runs[0], { outcome: "completed", result: 2 })).toMatchObject({ ok: true });
    expect(await workflow.get(runId)).toMatchObject({ status: "completed", result: 2 });
  });

  test("goes to it though the worker has waited at the first node before", async ({ service, other, engine }) => {
    const { id, trigger } = await putWorkflow(service);
    const before = await waitForRuns(engine, service, id);
    await before.leave();
    const { response } = await waitForRuns(engine, other, id);
    const runId = await trigger();
    expect((await response).runs).toMatchObject([{ runId, attempt: 1 }]);
  });

  test("goes to one of them once when workers wait at both", async ({ service, other, engine }) => {
    const workflow = await putWorkflow(service);
    const calls = [await waitForRuns(engine, service, workflow.id), await waitForRuns(engine, other, workflow.id, { worker: "w2" })];
    const runIds = [await workflow.trigger(), ...(await triggerMany(other, workflow, 1))];
    const runs: TakenRun[] = (await Promise.all(calls.map(({ response }) => response))).flatMap((one) => one.runs);
    expect(runs.map(({ runId }) => runId).toSorted()).toEqual(runIds.toSorted());
  });

  test("is executed once when that node stops right after the trigger", async ({ service, other }) => {
    const workflow = await putWorkflow(service);
    const workers = Array.from({ length: 6 }, (_, n) => startWorker(`w${n}`, workflow.id, [other, service]));
    const first = await triggerMany(service, workflow, 6);
    await until(() => workers.some((got) => got.length > 0), "the workers to work");
    const others = await triggerMany(service, workflow, 20);
    await other.node.stop();
    await expectExecutedOnce(workflow, [...first, ...others], workers);
  });

  test("is executed once when many are triggered on both, for workers of both", async ({ service, other }) => {
    const workflow = await putWorkflow(service);
    const workers = [service, other, service, other].map((node, n) => startWorker(`w${n}`, workflow.id, [node]));
    const single = async (node: Service): Promise<string> => (await node.ok("POST", `/v1/workflows/${workflow.id}/trigger`, {})).runIds[0];
    const both = [service, other];
    const triggered = await Promise.all(
      both.flatMap((node) => [triggerMany(node, workflow, 30), ...Array.from({ length: 20 }, () => single(node))]),
    );
    await expectExecutedOnce(workflow, triggered.flat(), workers);
  });
});
