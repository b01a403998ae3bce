import type { JobFilter, OperationAction, StartOperation } from "@tidemill/contract";
import type { Actor, AuditLog } from "#audit";
import { countJobs, findJobKeys, NEWEST, prepareSearch, readJobId } from "#jobs";
import { type Db, invalid, type JobId, type OperationId, problem, type Transactional, type UuidSource, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { lockWorkspace, workspaceNotFound } from "#workspaces";
import { auditStart } from "./audit.ts";
import { MOVABLE } from "./execute.ts";
import { countRunning, insertOperation, type OperationRow } from "./store.ts";

/** The maximum number of operations of a workspace that run at the same time. */
const MAX_RUNNING = 10;
/** The maximum number of ids that one statement looks up. */
const IDS_AT_ONCE = 100;

/**
 * Starts an operation: it counts the jobs that match now. Nodes change them in the background.
 *
 * @throws VALIDATION_ERROR for a request without a filter and without ids, or with both, or with states in which the action changes no
 *   jobs; INVALID_STATE when too many operations run
 */
export async function startOperation(
  database: Transactional,
  { audit, ids }: { readonly audit: AuditLog; readonly ids: UuidSource },
  { workspaceId, actorId }: Actor,
  action: OperationAction,
  request: StartOperation,
): Promise<OperationRow> {
  const { filter } = request;
  if ((filter === undefined) === (request.ids === undefined)) throw invalid("", "must have either filter or ids");
  if (filter) checkStates(action, filter);
  const wanted = filter
    ? { ...(await countMatching(database, workspaceId, action, filter)), portion: [] }
    : await findNamed(database, workspaceId, action, request.ids ?? []);
  return database.transaction(async (tx) => {
    // Two requests at the same time would start one too many.
    if (!(await lockWorkspace(tx, workspaceId))) throw workspaceNotFound(workspaceId);
    if ((await countRunning(tx, workspaceId)) >= MAX_RUNNING) throw tooMany();
    const operation = await insertOperation(
      tx,
      { workspaceId, id: ids.next() as OperationId },
      {
        action,
        filter: filter ?? null,
        ids: request.ids ? new Set(request.ids).size : null,
        actorId,
        matched: wanted.count,
        matched_exact: wanted.exact,
        before: filter ? NEWEST : null,
        portion: wanted.portion,
      },
    );
    await auditStart(tx, audit, operation);
    return operation;
  });
}

function checkStates(action: OperationAction, { state }: JobFilter): void {
  const movable: readonly string[] = MOVABLE[action];
  if (state !== undefined && !state.split(",").some((one) => movable.includes(one)))
    throw invalid("filter.state", `must have one of the states that ${action} changes: ${movable.join(", ")}`);
}

const countMatching = async (db: Db, workspaceId: WorkspaceId, action: OperationAction, filter: JobFilter) =>
  countJobs(db, await prepareSearch(db, workspaceId, filter, { states: MOVABLE[action] }));

/** The jobs of these ids that the action can change. */
async function findNamed(db: Db, workspaceId: WorkspaceId, action: OperationAction, named: readonly string[]) {
  const ids = [...new Set(named)];
  const portion: { laneId: LaneId; id: JobId }[] = [];
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const some = ids.slice(at, at + IDS_AT_ONCE).filter((id) => readJobId(id) !== null);
    const search = await prepareSearch(db, workspaceId, { id: some.join(",") }, { states: MOVABLE[action] });
    const found = search ? await findJobKeys(db, search, null, IDS_AT_ONCE) : [];
    portion.push(...found.filter((one) => one.found !== null).map(({ lane_id, id }) => ({ laneId: lane_id, id })));
  }
  return { count: portion.length, exact: true, portion };
}

const tooMany = () =>
  problem(
    "INVALID_STATE",
    { running: MAX_RUNNING },
    { message: `The workspace has ${MAX_RUNNING} operations that are running. Wait until one has ended, or cancel one.` },
  );
