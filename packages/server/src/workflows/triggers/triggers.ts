import { MAX_WEIGHT, type Tenant, weightOf } from "#jobs";
import {
  Batcher,
  type Db,
  type EmitEvent,
  ProblemError,
  type RunId,
  type SharedResource,
  type Transactional,
  type UuidSource,
  writeBatchOrEach,
} from "#kernel";
import { laneNotFound } from "#lanes";
import { openQuotas } from "#usage";
import { findTriggeredAcrossWorkspaces } from "../store.ts";
import { claimRunKeysAcrossWorkspaces, type RunKeyClaim, releaseRunKeysAcrossWorkspaces } from "./run-key-store.ts";
import { type RunToStart, startRuns } from "./start-runs.ts";
import { startUnlimited, UNDECIDED } from "./start-unlimited.ts";
import { type StartedRun, TRIGGERED_BY_API, type Trigger, type TriggerOfRun } from "./trigger.ts";
import type { WaitingWorkers } from "./waiting-workers.ts";

interface Request extends TriggerOfRun, Tenant {}

/** Null: there is no such workflow. */
type Outcome = StartedRun | ProblemError | null;

export interface TriggersOptions {
  readonly db: Transactional;
  readonly ids: UuidSource;
  readonly backlog: SharedResource;
  readonly emit: EmitEvent;
  readonly waitingWorkers: WaitingWorkers;
}

const WRITERS = 1;

/**
 * Starts runs in batches: triggers that arrive during a write are written together, in the next one. There are three writers, so that none
 * waits for what another one waits for. Triggers of workspaces with a quota need a transaction, which locks the quota. Triggers with a key
 * may wait for another transaction that is taking the same key. All others need one statement.
 */
export class Triggers {
  readonly #options: TriggersOptions;
  readonly #plain: Batcher<Request, Outcome | Error>;
  readonly #keyed: Batcher<Request, Outcome | Error>;
  readonly #limited: Batcher<Request, Outcome | Error>;

  constructor(options: TriggersOptions) {
    this.#options = options;
    const batcher = (write: (requests: readonly Request[]) => Promise<(Outcome | Error)[]>) =>
      new Batcher<Request, Outcome | Error>({
        maxWeight: MAX_WEIGHT,
        writers: WRITERS,
        weigh: ({ input }) => weightOf(input),
        workspaceOf: ({ workspaceId }) => workspaceId,
        write,
      });
    this.#plain = batcher((requests) => this.#startUnlimited(requests));
    this.#keyed = batcher((requests) => this.#startUnlimited(requests));
    this.#limited = batcher((requests) => this.#startLimited(requests));
  }

  /**
   * Starts a run. A trigger with a known key starts none. Like any other trigger, it is refused when the quota is used up. Source:
   * specification, Workflow behavior 7 and 8.
   *
   * @throws NOT_FOUND for the workflow; QUOTA_EXCEEDED; UNAVAILABLE when too many triggers wait to be written, or the database is
   *   unavailable
   */
  async start(tenant: Tenant, trigger: Trigger): Promise<StartedRun> {
    const { ids, db, backlog } = this.#options;
    const { workspaceId, executionsPerMonth } = tenant;
    const weight = weightOf(trigger.input);
    const turn = backlog.takeInTurn(workspaceId, weight);
    if (turn) await turn;
    const unlimited = trigger.idempotencyKey === null ? this.#plain : this.#keyed;
    const batcher = executionsPerMonth === null ? unlimited : this.#limited;
    const outcome = await batcher
      .add({ workspaceId, executionsPerMonth, ...trigger, id: ids.next() as RunId })
      .finally(() => backlog.release(workspaceId, weight));
    if (outcome instanceof Error) throw outcome;
    return outcome ?? Promise.reject(await laneNotFound(db, workspaceId, "workflow", trigger.workflow));
  }

  async #startUnlimited(requests: readonly Request[]): Promise<(Outcome | Error)[]> {
    const outcomes = await startUnlimited(this.#options, requests);
    const undecided = requests.filter((_, at) => outcomes[at] === UNDECIDED);
    // The others have started, whatever happens to these.
    const decided = await this.#startInTransaction(undecided).catch((error: Error) => undecided.map(() => error));
    return outcomes.map((outcome) => (outcome === UNDECIDED ? (decided.shift() ?? null) : outcome));
  }

  async #startLimited(requests: readonly Request[]): Promise<(Outcome | Error)[]> {
    const outcomes = await this.#startInTransaction(requests);
    const refused = outcomes.filter((outcome) => outcome instanceof ProblemError && outcome.code === "QUOTA_EXCEEDED").length;
    if (refused > 0) this.#options.emit("executions_refused", { requests: refused });
    return outcomes;
  }

  #startInTransaction(requests: readonly Request[]): Promise<(Outcome | Error)[]> {
    return writeBatchOrEach(requests, (some) => this.#options.db.transaction((tx) => startAll(tx, some)));
  }
}

/** Locks keys before quotas, like all code that accepts executions. */
async function startAll(tx: Db, requests: readonly Request[]): Promise<Outcome[]> {
  const workflows = await findTriggeredAcrossWorkspaces(tx, requests);
  const claims = requests.map((request, index): RunKeyClaim | null => {
    const { workspaceId, id: runId, idempotencyKey: key } = request;
    const workflow = workflows[index];
    return workflow && key !== null ? { workspaceId, laneId: workflow.laneId, key, runId } : null;
  });
  const keyed = claims.filter((claim) => claim !== null);
  const named = keyed.length > 0 ? await claimRunKeysAcrossWorkspaces(tx, keyed) : [];
  const runOf = new Map(keyed.map((claim, index) => [claim.runId, named[index] as RunId]));
  const limited = requests.filter(({ executionsPerMonth }) => executionsPerMonth !== null).map(({ workspaceId }) => workspaceId);
  const quotas = limited.length > 0 ? await openQuotas(tx, limited) : null;
  const toStart: RunToStart[] = [];
  const refused: RunKeyClaim[] = [];
  const outcomes = requests.map((request, index): Outcome => {
    const { workspaceId, input, idempotencyKey, dueMs: runAtMs } = request;
    const workflow = workflows[index];
    if (!workflow) return null;
    const { laneId, attempts, backoffDelayMs } = workflow;
    const lane = { workspaceId, laneId };
    const id = runOf.get(request.id) ?? request.id;
    const duplicate = id !== request.id;
    const demand = { workspaceId, executions: 1 };
    const refusal = (duplicate ? quotas?.refusalOf(demand) : quotas?.take(demand)) ?? null;
    const claim = claims[index];
    if (refusal && claim && !duplicate) refused.push(claim);
    if (refusal) return refusal;
    if (!duplicate) toStart.push({ ...lane, id, attempts, backoffDelayMs, input, trigger: TRIGGERED_BY_API, idempotencyKey, runAtMs });
    return { id, duplicate, isHeld: false, lane };
  });
  if (refused.length > 0) await releaseRunKeysAcrossWorkspaces(tx, refused);
  await quotas?.store();
  await startRuns(tx, toStart);
  return outcomes;
}
