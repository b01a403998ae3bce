import { LIMITS } from "@tidemill/contract";
import { invokedTooDeep } from "@tidemill/contract/journal";
import type { NamedClaim } from "#jobs";
import { type Db, problem, type RunId, row, rows, sql, type Transactional, type UuidSource } from "#kernel";
import { type LaneKey, laneNotFound } from "#lanes";
import { openQuotas } from "#usage";
import { lockExecution } from "../executions/execution-store.ts";
import { type RunKey, showRunId } from "../runs/run.ts";
import { findStep } from "../runs/run-store.ts";
import { completedStep } from "../steps/step-store.ts";
import { storeStep } from "../steps/store-step.ts";
import { findWorkflow } from "../store.ts";
import { startRuns } from "../triggers/start-runs.ts";

/** What a step invokes. */
export interface Invocation {
  readonly key: string;
  readonly workflow: string;
  /** JSON text. */
  readonly input: string;
  readonly timeoutMs: number;
}

/** The response for the step, as JSON text, and the lane in which the run waits if it is new. */
export interface InvokedRun {
  readonly output: string;
  readonly lane: LaneKey | null;
}

/**
 * Starts a run for a step of another run, and stores the step, which waits for it. If the journal has the step, nothing is started.
 *
 * @returns null if the claim no longer holds: then nothing is started
 * @throws NOT_FOUND for the workflow; QUOTA_EXCEEDED; CONFLICT for too many invocations in a row, or a key of a step of another type;
 * PAYLOAD_TOO_LARGE for a full journal
 */
export const invokeWorkflow = (
  database: Transactional,
  ids: UuidSource,
  parent: RunKey,
  claim: NamedClaim,
  { key, workflow: name, input, timeoutMs }: Invocation,
): Promise<InvokedRun | null> =>
  database.transaction(async (tx) => {
    const { workspaceId } = parent;
    if (!(await lockExecution(tx, parent, claim))) return null;
    const stored = await findInvoked(tx, parent, key);
    if (stored) return { output: outputOf(stored), lane: null };
    const workflow = await findWorkflow(tx, workspaceId, name);
    if (!workflow) throw await laneNotFound(tx, workspaceId, "workflow", name);
    const depth = await findDepth(tx, parent);
    if (depth >= LIMITS.invokeDepth) await refuseTooDeep(tx, parent, name);
    const quotas = await openQuotas(tx, [workspaceId]);
    const refusal = quotas.take({ workspaceId, executions: 1 });
    if (refusal) throw refusal;
    await quotas.store();
    const id = ids.next() as RunId;
    const lane = { workspaceId, laneId: workflow.id };
    const { attempts, backoff_delay_ms: backoffDelayMs } = workflow;
    const trigger = JSON.stringify({ type: "invoke", runId: showRunId(parent.id), step: key });
    const run = { ...lane, id, attempts, backoffDelayMs, input, trigger, idempotencyKey: null, runAtMs: null };
    await startRuns(tx, [{ ...run, parent: { laneId: claim.laneId, id: parent.id, depth } }]);
    const output = outputOf(id);
    const step = { ...completedStep(key, "invoke", output), status: "waiting", wakeInMs: timeoutMs, childRunId: id } as const;
    await storeStep(tx, parent, step);
    return { output, lane };
  });

const outputOf = (id: RunId): string => JSON.stringify({ runId: showRunId(id) });

/** The run that a stored step has started. */
async function findInvoked(tx: Db, run: RunKey, key: string): Promise<RunId | null> {
  const stored = await findStep(tx, run, key);
  if (!stored) return null;
  if (stored.child_run_id !== null) return stored.child_run_id;
  const message = `The journal has a step "${key}" of the type ${stored.type}, which is ${stored.status}.`;
  throw problem("CONFLICT", { step: key, reason: "StepStored" }, { message });
}

async function refuseTooDeep(tx: Db, parent: RunKey, name: string): Promise<void> {
  const workflows = [...(await namesAbove(tx, parent)), name];
  const message = invokedTooDeep(workflows);
  if (message !== null) throw problem("CONFLICT", { reason: "InvokedTooDeep", workflows }, { message });
}

/** Uses the primary key. */
const findDepth = async (tx: Db, { workspaceId, id }: RunKey): Promise<number> =>
  (await row<{ depth: number }>(tx, sql`select depth from run where workspace_id = ${workspaceId} and id = ${id}`))?.depth ?? 0;

/** The workflows of a run and of those that lead to it, the first one first. Uses the primary keys. */
const namesAbove = async (tx: Db, { workspaceId, id }: RunKey): Promise<string[]> =>
  (
    await rows<{ name: string }>(
      tx,
      sql`
        with recursive above as (
          select lane_id, parent_run_id, depth from run where workspace_id = ${workspaceId} and id = ${id}
          union all
          select r.lane_id, r.parent_run_id, r.depth from above a join run r on r.workspace_id = ${workspaceId} and r.id = a.parent_run_id
        )
        select l.name from above a join lane l on l.workspace_id = ${workspaceId} and l.id = a.lane_id order by a.depth`,
    )
  ).map(({ name }) => name);
