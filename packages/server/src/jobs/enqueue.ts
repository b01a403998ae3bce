import {
  Batcher,
  type EmitEvent,
  isAway,
  type JobId,
  momentMs,
  ProblemError,
  problem,
  type Transactional,
  tolerate,
  toMoment,
  type UuidSource,
  unavailable,
  type WorkspaceId,
} from "#kernel";
import { existAcrossWorkspaces, type LaneId } from "#queues";
import { takeExecutions } from "#usage";
import { type InsertedJob, type InsertRequest, insertJobsAcrossWorkspaces, type JobToInsert } from "./insert.ts";
import type { JobRow } from "./job.ts";
import { MOST_WEIGHT, weightOf } from "./weight.ts";

/** One job as a caller sends it, checked. `null` stands for the queue's default. */
export interface NewJob {
  /** JSON text. */
  readonly payload: string;
  readonly delaySeconds: number;
  /** Milliseconds since 1970; instead of `delaySeconds`. */
  readonly runAtMs: number | null;
  readonly tag: string | null;
  readonly priority: number;
  readonly concurrencyKey: string | null;
  readonly attempts: number | null;
  readonly backoffDelayMs: number | null;
}

/** What enqueue needs of the engine that moves the jobs on. */
export interface Outlet {
  /** This node, while it may take jobs at all; and how many it has room to take as they are written. */
  readonly nodeId: number | null;
  room(): number;
  /** Runs a write by which these jobs may go straight through, so that the node knows of them while it does not have them yet. */
  expecting<Result>(ids: readonly JobId[], write: () => Promise<Result>): Promise<Result>;
  /** Jobs that were written as claimed by this node: it starts them now. */
  take(jobs: StartedJob[]): void;
  /** Jobs wait in these lanes. */
  wake(lanes: Iterable<{ workspaceId: WorkspaceId; laneId: LaneId }>): void;
  /** A job will be due then. Milliseconds since 1970. */
  dueAt(ms: number): void;
}

/** A job that went straight through, with what its delivery needs. */
export interface StartedJob {
  readonly workspaceId: WorkspaceId;
  readonly nodeId: number;
  readonly inserted: InsertedJob;
  readonly input: JobToInsert;
}

/** Whose jobs they are. */
export interface Customer {
  readonly workspaceId: WorkspaceId;
  /** Null has no limit. */
  readonly executionsPerMonth: number | null;
}

type Outcome = InsertedJob[] | ProblemError;

const WRITERS = 1;

const weigh = ({ jobs }: InsertRequest): number => jobs.reduce((sum, { payload }) => sum + weightOf(payload), 0);

/**
 * Takes jobs in: what arrives while a write is under way is written together with the next one (I1). Jobs of workspaces with a
 * quota are written apart from the others: they wait for their quota's row, which the others do not have.
 */
export class Enqueuer {
  readonly #db: Transactional;
  readonly #ids: UuidSource;
  readonly #outlet: Outlet;
  readonly #emit: EmitEvent;
  readonly #mostWaiting: number;
  readonly #unlimited: Batcher<InsertRequest, Outcome>;
  readonly #limited: Batcher<InsertRequest, Outcome>;

  constructor(options: { db: Transactional; ids: UuidSource; outlet: Outlet; emit: EmitEvent; mostWaiting: number }) {
    this.#db = options.db;
    this.#ids = options.ids;
    this.#outlet = options.outlet;
    this.#emit = options.emit;
    this.#mostWaiting = options.mostWaiting;
    const batcher = (write: (requests: InsertRequest[]) => Promise<Outcome[]>) =>
      new Batcher({ most: MOST_WEIGHT, writers: WRITERS, weigh, write: (requests: InsertRequest[]) => this.#writeGroup(requests, write) });
    this.#unlimited = batcher((requests) => this.#write(requests, (nodeId) => insertJobsAcrossWorkspaces(this.#db, nodeId, requests)));
    this.#limited = batcher((requests) => this.#write(requests, (nodeId) => this.#insertWithinQuota(nodeId, requests)));
  }

  /**
   * Stores jobs of one queue, all or none, and answers them in their order once they are durable.
   *
   * @throws NOT_FOUND when the workspace has no such queue; QUOTA_EXCEEDED when the month has not that many executions left;
   *   UNAVAILABLE when too many jobs wait to be written, or the database is away
   */
  async enqueue({ workspaceId, executionsPerMonth }: Customer, queue: string, jobs: readonly NewJob[]): Promise<JobRow[]> {
    if (this.#unlimited.waiting + this.#limited.waiting + jobs.length > this.#mostWaiting) {
      throw unavailable("Too many jobs are waiting to be stored.");
    }
    const toInsert = jobs.map((job) => ({ ...job, id: this.#ids.next() as JobId, tick: null, straight: false }));
    const batcher = executionsPerMonth === null ? this.#unlimited : this.#limited;
    const inserted = await batcher.add({ workspaceId, queue, jobs: toInsert });
    if (!Array.isArray(inserted)) throw inserted;
    return inserted.map((row, index) => recordOf(toInsert[index] as JobToInsert, row));
  }

  async #writeGroup(requests: InsertRequest[], write: (requests: InsertRequest[]) => Promise<Outcome[]>): Promise<Outcome[]> {
    try {
      return await write(this.#letThrough(requests));
    } catch (error) {
      // One request's job that the database refuses must not fail its neighbours.
      if (requests.length === 1 || isAway(error)) throw error;
      this.#emit("enqueue_group_split", { requests: requests.length, error });
      const outcomes = await Promise.allSettled(requests.map((request) => write([request])));
      return outcomes.map((outcome) =>
        outcome.status === "fulfilled" ? (outcome.value[0] ?? problem("NOT_FOUND")) : (outcome.reason as ProblemError),
      );
    }
  }

  /** Single jobs may go straight through, while this node has room, and none overtakes another of its queue in the same write. */
  #letThrough(requests: InsertRequest[]): InsertRequest[] {
    let room = this.#outlet.room();
    const behind = new Set<string>();
    return requests.map((request) => {
      const [job] = request.jobs;
      const lane = `${request.workspaceId}${request.queue}`;
      if (!job || request.jobs.length > 1 || job.concurrencyKey !== null || room <= 0 || behind.has(lane)) {
        behind.add(lane);
        return request;
      }
      room -= 1;
      return { ...request, jobs: [{ ...job, straight: true }] };
    });
  }

  /** In one transaction: what the quota does not allow is refused before anything is stored (I9). */
  #insertWithinQuota(nodeId: number | null, requests: InsertRequest[]): Promise<(InsertedJob[] | ProblemError | null)[]> {
    return this.#db.transaction(async (tx) => {
      // A request for a queue that is not there takes nothing, and so costs no other its place.
      const exist = await existAcrossWorkspaces(tx, requests);
      const present = requests.filter((_, index) => exist[index]);
      const refusals = await takeExecutions(tx, present.map(demandOf));
      const accepted = present.filter((_, index) => refusals[index] === null);
      const stored = accepted.length > 0 ? await insertJobsAcrossWorkspaces(tx, nodeId, accepted) : [];
      // Its queue was deleted between the two statements.
      const gone = accepted.filter((_, index) => stored[index] === null).map(demandOf);
      if (gone.length > 0)
        await takeExecutions(
          tx,
          gone.map(({ workspaceId, executions }) => ({ workspaceId, executions: -executions })),
        );
      const outcomes = new Map<InsertRequest, InsertedJob[] | ProblemError | null>();
      for (const [index, request] of present.entries()) outcomes.set(request, refusals[index] ?? null);
      for (const [index, request] of accepted.entries()) outcomes.set(request, stored[index] ?? null);
      return requests.map((request) => outcomes.get(request) ?? null);
    });
  }

  async #write(
    requests: InsertRequest[],
    insert: (nodeId: number | null) => Promise<(InsertedJob[] | ProblemError | null)[]>,
  ): Promise<Outcome[]> {
    const { nodeId } = this.#outlet;
    const straight = requests.flatMap(({ jobs }) => jobs.filter((job) => job.straight).map(({ id }) => id));
    const inserted = await this.#outlet.expecting(straight, async () => {
      const stored = await insert(nodeId);
      // The jobs are stored: whatever fails from here on must not have them written again.
      await tolerate(
        async () => this.#passOn(requests, stored, nodeId),
        (error) => this.#emit("pass_on_failed", { error }),
      );
      return stored;
    });
    const refused = inserted.filter((outcome) => outcome instanceof ProblemError).length;
    if (refused > 0) this.#emit("executions_refused", { requests: refused });
    return inserted.map((outcome) => outcome ?? problem("NOT_FOUND"));
  }

  #passOn(requests: InsertRequest[], inserted: (InsertedJob[] | ProblemError | null)[], nodeId: number | null): void {
    const started: StartedJob[] = [];
    const lanes = new Map<LaneId, { workspaceId: WorkspaceId; laneId: LaneId }>();
    let count = 0;
    for (const [at, { workspaceId, jobs }] of requests.entries()) {
      const stored = inserted[at];
      if (!Array.isArray(stored)) continue;
      for (const [index, job] of stored.entries()) {
        count += 1;
        if (job.state === "active" && nodeId !== null)
          started.push({ workspaceId, nodeId, inserted: job, input: jobs[index] as JobToInsert });
        else if (job.state === "waiting") lanes.set(job.laneId, { workspaceId, laneId: job.laneId });
        else if (job.state === "delayed") this.#outlet.dueAt(momentMs(job.runAt));
      }
    }
    if (started.length > 0) this.#outlet.take(started);
    if (lanes.size > 0) this.#outlet.wake(lanes.values());
    this.#emit("jobs_enqueued", { count });
  }
}

const demandOf = ({ workspaceId, jobs }: InsertRequest) => ({ workspaceId, executions: jobs.length });

/** The job as it was accepted. One that went straight through was started in the same breath; its record says so from then on. */
export function recordOf(input: JobToInsert, inserted: InsertedJob): JobRow {
  return {
    id: input.id,
    state: inserted.state === "active" ? "waiting" : inserted.state,
    priority: input.priority,
    attempt: 0,
    spared: 0,
    attempts: inserted.attempts,
    run_at: inserted.runAt,
    created_at: inserted.createdAt,
    started_at: null,
    finished_at: null,
    tag: input.tag,
    concurrency_key: input.concurrencyKey,
    payload: input.payload,
    result: null,
    last_error: null,
    schedule: input.tick?.schedule ?? null,
    scheduled_for: input.tick && toMoment(input.tick.atMs),
    idempotency_key: null,
    approval: null,
  };
}
