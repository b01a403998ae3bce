import type { JobState, OperationAction, RecordKind } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import {
  type ChangedJob,
  cancelMany,
  findJobKeys,
  JOB_MOVES,
  lockKeysOfMany,
  type ManyJobs,
  prepareSearch,
  removeManyFailed,
  removeManyFinished,
  restoreMany,
  retryManyFailed,
} from "#jobs";
import { cutPage, type Db, type JobId, type ReportChange, type Transactional } from "#kernel";
import type { Aborter, LaneId, LaneKey, Waker } from "#lanes";
import { auditEnd } from "./audit.ts";
import {
  endOperation,
  lockRunning,
  type OperationKey,
  type RunningOperation,
  storePortion,
  storeProgress,
  takeTurnAcrossWorkspaces,
} from "./store.ts";

export interface Execution {
  readonly database: Transactional;
  readonly audit: AuditLog;
  readonly waker: Pick<Waker, "wake">;
  readonly aborter: Pick<Aborter, "abortJob">;
  readonly report: ReportChange;
}

const CHANGED: readonly RecordKind[] = ["jobs", "queues", "approvals"];

/** The maximum number of jobs that are changed together. A transaction holds their locks. */
const PORTION = 500;

/** The states from which an action moves a job. */
export const MOVABLE: Record<OperationAction, readonly JobState[]> = {
  retry: JOB_MOVES.retry.from,
  cancel: JOB_MOVES.cancel.from,
  remove: JOB_MOVES.remove.from,
};

/** One of the statements that change the jobs of a portion. Each has a transaction of its own, which keeps the lock order. */
type Step = (tx: Db, jobs: ManyJobs) => Promise<readonly ChangedJob[]>;

const cancelKeyed: Step = async (tx, many) => {
  const jobs = await lockKeysOfMany(tx, many);
  return jobs.length === 0 ? [] : cancelMany(tx, { ...many, jobs }, true);
};

/** The steps of an action, in order. */
const STEPS: Record<OperationAction, readonly Step[]> = {
  retry: [retryManyFailed, restoreMany],
  cancel: [(tx, many) => cancelMany(tx, many, false), cancelKeyed],
  remove: [removeManyFailed, removeManyFinished],
};

/**
 * Changes the next portion of the operation whose turn it is. What was picked is stored first and taken out in the transaction that changes
 * it, so another node continues after a crash, and no job is changed twice.
 *
 * @returns whether there was an operation
 */
export async function executeNext(execution: Execution): Promise<boolean> {
  const key = await takeTurnAcrossWorkspaces(execution.database);
  if (key === null) return false;
  const operation = await execution.database.transaction((tx) => pick(tx, execution.audit, key));
  if (operation && operation.jobs.length > 0) await changePortion(execution, operation);
  return true;
}

/** Picks the next portion of an operation, unless one is under way. Ends an operation that has no more. */
async function pick(tx: Db, audit: AuditLog, key: OperationKey): Promise<RunningOperation | null> {
  const operation = await lockRunning(tx, key);
  if (operation === null || operation.jobs.length > 0) return operation;
  const { found, next } = await nextJobs(tx, operation);
  if (found.length > 0 || next !== null) {
    await storePortion(tx, key, found, next);
    return { ...operation, jobs: found.map(({ id }) => id), lanes: found.map(({ laneId }) => laneId), before_id: next };
  }
  const ended = await endOperation(tx, key, "completed");
  if (ended) await auditEnd(tx, audit, ended, operation.actor_id);
  return operation;
}

interface NextJobs {
  readonly found: readonly { readonly laneId: LaneId; readonly id: JobId }[];
  readonly next: JobId | null;
}

async function nextJobs(tx: Db, { workspace_id, action, filter, before_id, until }: RunningOperation): Promise<NextJobs> {
  const search =
    before_id === null || filter === null ? null : await prepareSearch(tx, workspace_id, filter, { states: MOVABLE[action], until });
  if (search === null) return { found: [], next: null };
  const keys = await findJobKeys(tx, search, before_id, PORTION + 1);
  const { records, next } = cutPage(keys, PORTION, ({ id }) => id);
  return { found: records.map(({ lane_id, id }) => ({ laneId: lane_id, id })), next };
}

/** Changes the jobs of a portion, until none is left that can be changed. Several nodes may work on it. */
async function changePortion(execution: Execution, portion: RunningOperation): Promise<void> {
  for (let moved = 1; moved > 0; ) {
    moved = 0;
    for (const step of STEPS[portion.action]) moved += await changeSome(execution, portion, step);
  }
  await execution.database.transaction(async (tx) => {
    const operation = await lockPortion(tx, portion);
    if (operation) await storeProgress(tx, keyOf(portion), [], { done: 0, skipped: operation.jobs.length });
  });
}

/** Locks what is left of a portion. Null: another node finished it. */
async function lockPortion(tx: Db, portion: RunningOperation): Promise<RunningOperation | null> {
  const operation = await lockRunning(tx, keyOf(portion));
  return operation && operation.jobs.length > 0 && operation.before_id === portion.before_id ? operation : null;
}

/** Makes one of the steps for what is left of the portion. Returns how many jobs it changed. */
async function changeSome({ database, waker, aborter, report }: Execution, portion: RunningOperation, step: Step): Promise<number> {
  const key = keyOf(portion);
  const changed = await database.transaction(async (tx) => {
    const operation = await lockPortion(tx, portion);
    if (!operation) return [];
    const jobs = operation.jobs.map((id, index) => ({ laneId: operation.lanes[index] as LaneId, id }));
    const states = statesOf(operation);
    const done = await step(tx, { workspaceId: key.workspaceId, jobs, states, until: operation.until });
    if (done.length === 0) return [];
    const ids = new Set(done.map(({ id }) => id));
    await storeProgress(
      tx,
      key,
      jobs.filter(({ id }) => !ids.has(id)),
      { done: done.length, skipped: 0 },
    );
    return done;
  });
  for (const { id, leaseId } of changed) if (leaseId !== null) aborter.abortJob(id, leaseId);
  waker.wake(lanesOf(key, changed));
  if (changed.length > 0) report(key.workspaceId, CHANGED);
  return changed.length;
}

/** The states in which a job is changed: those of the action that the filter does not leave out. */
function statesOf({ action, filter }: RunningOperation): readonly JobState[] {
  const asked = filter?.state?.split(",");
  return MOVABLE[action].filter((state) => asked?.includes(state) ?? true);
}

const lanesOf = ({ workspaceId }: OperationKey, changed: readonly ChangedJob[]): LaneKey[] =>
  [...new Set(changed.map(({ laneId }) => laneId))].map((laneId) => ({ workspaceId, laneId }));

const keyOf = ({ workspace_id, id }: RunningOperation): OperationKey => ({ workspaceId: workspace_id, id });
