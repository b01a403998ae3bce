import {
  Batcher,
  type EmitEvent,
  isAway,
  type JobId,
  momentMs,
  ProblemError,
  type Transactional,
  tolerate,
  type UuidSource,
  unavailable,
  type WorkspaceId,
} from "#kernel";
import type { LaneId, LaneKey, Waker } from "#lanes";
import { acceptAcrossWorkspaces, type Outcome } from "./accept.ts";
import { laneName } from "./distinct-lanes.ts";
import type { JobRow } from "./job.ts";
import type { NewJob } from "./new-job.ts";
import { recordOf } from "./record.ts";
import { type InsertedJob, type InsertRequest, insertJobsAcrossWorkspaces, type JobToInsert } from "./store/insert.ts";
import { MOST_WEIGHT, weightOf } from "./weight.ts";

/** A job as an enqueue answers it: the one that was stored, or the one that came with its idempotency key before it. */
export type EnqueuedJob = JobRow & { readonly duplicate?: true };

/** What enqueue needs of the engine that moves the jobs on. */
export interface Outlet extends Waker {
  /** The node's lease, while it may take jobs at all; and how many it has room to take as they are written. */
  readonly leaseId: number | null;
  room(): number;
  /** Runs a write by which these jobs may go straight through, so that the node knows of them while it does not have them yet. */
  expecting<Result>(ids: readonly JobId[], write: () => Promise<Result>): Promise<Result>;
  /** Jobs that were written as claimed by this node: it starts them now. */
  take(jobs: StartedJob[]): void;
}

/** A job that went straight through, with what its delivery needs. */
export interface StartedJob {
  readonly workspaceId: WorkspaceId;
  readonly leaseId: number;
  readonly inserted: InsertedJob;
  readonly input: JobToInsert;
}

/** Whose jobs they are. */
export interface Customer {
  readonly workspaceId: WorkspaceId;
  /** Null has no limit. */
  readonly executionsPerMonth: number | null;
}

type Insert = (leaseId: number | null, requests: InsertRequest[]) => Promise<Outcome[]>;

/** Who writes jobs of which kind: of workspaces without a quota, of those with idempotency keys, and of workspaces with a quota. */
type Writers = Readonly<Record<"plain" | "keyed" | "limited", Batcher<InsertRequest, Outcome>>>;

const WRITERS = 1;

const weigh = ({ jobs }: InsertRequest): number => jobs.reduce((sum, { payload }) => sum + weightOf(payload), 0);

/**
 * Takes jobs in: what arrives while a write is under way is written together with the next one (I1). Jobs of workspaces with a
 * quota are written apart from the others, for they wait for their quota's row, which the others do not have; so are jobs with
 * an idempotency key, for they take a transaction where the others take one statement. And of each kind those with a concurrency
 * key, which somebody may have locked, are written apart from the free ones.
 */
export class Enqueuer {
  readonly #db: Transactional;
  readonly #ids: UuidSource;
  readonly #outlet: Outlet;
  readonly #emit: EmitEvent;
  readonly #maxWaiting: number;
  readonly #free: Writers;
  readonly #ordered: Writers;

  constructor(options: { db: Transactional; ids: UuidSource; outlet: Outlet; emit: EmitEvent; maxWaiting: number }) {
    this.#db = options.db;
    this.#ids = options.ids;
    this.#outlet = options.outlet;
    this.#emit = options.emit;
    this.#maxWaiting = options.maxWaiting;
    const batcher = (insert: Insert): Batcher<InsertRequest, Outcome> =>
      new Batcher({ maxWeight: MOST_WEIGHT, writers: WRITERS, weigh, write: (requests) => this.#writeGroup(requests, insert) });
    const writers = (): Writers => ({
      plain: batcher((leaseId, requests) => insertJobsAcrossWorkspaces(this.#db, leaseId, requests)),
      keyed: batcher((leaseId, requests) => acceptAcrossWorkspaces(this.#db, leaseId, requests, false)),
      limited: batcher((leaseId, requests) => acceptAcrossWorkspaces(this.#db, leaseId, requests, true)),
    });
    this.#free = writers();
    this.#ordered = writers();
  }

  /**
   * Stores jobs of one queue, all or none, and answers them in their order once they are durable. In place of one whose
   * idempotency key is known comes the job that came with it first. Null when the workspace has no such queue.
   *
   * @throws IDEMPOTENCY_MISMATCH when a key is known for another job;
   *   QUOTA_EXCEEDED when the month has not that many executions left; UNAVAILABLE when too many jobs wait to be written, or the
   *   database is away
   */
  async enqueue({ workspaceId, executionsPerMonth }: Customer, queue: string, jobs: readonly NewJob[]): Promise<EnqueuedJob[] | null> {
    const waiting = [this.#free, this.#ordered].flatMap((writers) => Object.values(writers)).reduce((sum, one) => sum + one.waiting, 0);
    if (waiting + jobs.length > this.#maxWaiting) {
      throw unavailable("Too many jobs are waiting to be stored.");
    }
    const toInsert = jobs.map((job) => ({ ...job, id: this.#ids.next() as JobId, tick: null, straight: false }));
    const outcome = await this.#batcherOf(jobs, executionsPerMonth).add({ workspaceId, queue, jobs: toInsert });
    if (outcome instanceof Error) throw outcome;
    if (!outcome) return null;
    return outcome.map((one, index) =>
      "first" in one ? { ...one.first, duplicate: true } : recordOf(toInsert[index] as JobToInsert, one),
    );
  }

  #batcherOf(jobs: readonly NewJob[], executionsPerMonth: number | null): Batcher<InsertRequest, Outcome> {
    const { plain, keyed, limited } = jobs.some(({ concurrencyKey }) => concurrencyKey !== null) ? this.#ordered : this.#free;
    if (executionsPerMonth !== null) return limited;
    return jobs.some(({ idempotency }) => idempotency) ? keyed : plain;
  }

  async #writeGroup(requests: InsertRequest[], insert: Insert): Promise<Outcome[]> {
    try {
      return await this.#write(this.#letThrough(requests), insert);
    } catch (error) {
      // One request's job that the database refuses must not fail its neighbours.
      if (requests.length === 1 || isAway(error)) throw error;
      this.#emit("enqueue_batch_split", { requests: requests.length, error });
      const outcomes = await Promise.allSettled(requests.map((request) => this.#write([request], insert)));
      return outcomes.map((outcome) => (outcome.status === "fulfilled" ? (outcome.value[0] ?? null) : (outcome.reason as Error)));
    }
  }

  /** Single jobs may go straight through, while this node has room, and none overtakes another of its queue in the same write. */
  #letThrough(requests: InsertRequest[]): InsertRequest[] {
    let room = this.#outlet.room();
    const behind = new Set<string>();
    return requests.map((request) => {
      const [job] = request.jobs;
      const lane = laneName(request);
      if (!job || request.jobs.length > 1 || job.concurrencyKey !== null || room <= 0 || behind.has(lane)) {
        behind.add(lane);
        return request;
      }
      room -= 1;
      return { ...request, jobs: [{ ...job, straight: true }] };
    });
  }

  async #write(requests: InsertRequest[], insert: Insert): Promise<Outcome[]> {
    const { leaseId } = this.#outlet;
    const straight = requests.flatMap(({ jobs }) => jobs.filter((job) => job.straight).map(({ id }) => id));
    const outcomes = await this.#outlet.expecting(straight, async () => {
      const written = await insert(leaseId, requests);
      // The jobs are stored: whatever fails from here on must not have them written again.
      await tolerate(
        async () => this.#passOn(requests, written, leaseId),
        (error) => this.#emit("enqueue_handoff_failed", { error }),
      );
      return written;
    });
    const refused = outcomes.filter((outcome) => outcome instanceof ProblemError && outcome.code === "QUOTA_EXCEEDED").length;
    if (refused > 0) this.#emit("executions_refused", { requests: refused });
    return outcomes;
  }

  #passOn(requests: InsertRequest[], outcomes: Outcome[], leaseId: number | null): void {
    const started: StartedJob[] = [];
    const lanes = new Map<LaneId, LaneKey>();
    let count = 0;
    for (const [at, { workspaceId, jobs }] of requests.entries()) {
      const outcome = outcomes[at];
      if (!outcome || outcome instanceof Error) continue;
      for (const [index, job] of outcome.entries()) {
        if ("first" in job) continue;
        count += 1;
        if (job.state === "active" && leaseId !== null)
          started.push({ workspaceId, leaseId, inserted: job, input: jobs[index] as JobToInsert });
        else if (job.state === "waiting") lanes.set(job.laneId, { workspaceId, laneId: job.laneId });
        else if (job.state === "delayed") this.#outlet.wakeAt(momentMs(job.runAt));
      }
    }
    if (started.length > 0) this.#outlet.take(started);
    if (lanes.size > 0) this.#outlet.wake(lanes.values());
    this.#emit("jobs_enqueued", { count });
  }
}
