import type { RecordKind } from "@tidemill/contract";
import {
  Batcher,
  type EmitEvent,
  type JobId,
  MAX_PAGE_BYTES,
  momentMs,
  ProblemError,
  type ReportChange,
  SerialDatabase,
  type SharedResource,
  type Transactional,
  tolerate,
  type UuidSource,
  type WorkspaceId,
  writeBatchOrEach,
} from "#kernel";
import type { LaneId, LaneKey, PulledWaker, Waker } from "#lanes";
import { acceptAcrossWorkspaces } from "./accept.ts";
import { distinctLanes } from "./distinct-lanes.ts";
import type { JobRow } from "./job.ts";
import type { Idempotency, NewJob } from "./new-job.ts";
import type { EnqueueOutcome } from "./outcome.ts";
import { recordOf } from "./record.ts";
import { type BatchRequest, insertOrFindAcrossWorkspaces } from "./repeated-batch.ts";
import { type InsertedJob, type InsertRequest, insertJobsAcrossWorkspaces, type JobToInsert } from "./store/insert.ts";
import { MAX_WEIGHT, weightOf } from "./weight.ts";

/** The result of an enqueue: the job that was stored, or the original with the same idempotency key. */
export type EnqueuedJob = JobRow & { readonly duplicate?: true };

/** What enqueue needs from the engine, which claims and delivers the jobs. */
export interface EnqueueEngine extends Waker, PulledWaker {
  /** The node's lease. Null while the node may take no jobs. */
  readonly leaseId: number | null;
  roomFor(workspaceId: WorkspaceId): number;
  /**
   * Runs a write that may start these jobs eagerly. The node expects them until the write ends. If the write fails, or one of its
   * outcomes is that the database was unavailable, jobs may still have been stored: the node looks for them.
   */
  expecting<Outcome>(ids: readonly JobId[], write: () => Promise<Outcome[]>): Promise<Outcome[]>;
  /** Starts jobs that were written as claimed by this node. */
  take(jobs: StartedJob[]): void;
}

/** A job that started eagerly, with what its delivery needs. */
export interface StartedJob {
  readonly workspaceId: WorkspaceId;
  readonly leaseId: number;
  readonly inserted: InsertedJob;
  readonly input: JobToInsert;
}

/** The workspace that enqueues, and its quota. */
export interface Tenant {
  readonly workspaceId: WorkspaceId;
  /** Null: no limit. */
  readonly executionsPerMonth: number | null;
}

const ENQUEUED: readonly RecordKind[] = ["jobs", "queues", "approvals"];

type Insert = (leaseId: number | null, requests: InsertRequest[]) => Promise<EnqueueOutcome[]>;

/** One batcher for plain jobs, one for batches and one for jobs with idempotency keys, and one for jobs of workspaces with a quota. */
type Writers = Readonly<Record<"plain" | "batches" | "keyed" | "limited", Batcher<InsertRequest, EnqueueOutcome>>>;

const WRITERS = 1;

const weigh = ({ jobs }: InsertRequest): number => jobs.reduce((sum, { payload }) => sum + weightOf(payload), 0);

/**
 * Stores jobs in batches: requests that arrive during a write are written together, in the next one (I1). Five groups are written
 * separately, so that they do not delay the others. Jobs of workspaces with a quota wait for the row of that quota. Jobs with an
 * idempotency key need a transaction, while others need one statement. Batches with an idempotency key may wait for another node that is
 * storing the same batch. Jobs with a concurrency key wait for the lock of that key. And a large batch fills a statement of its own.
 */
export class Enqueuer {
  readonly #ids: UuidSource;
  readonly #outlet: EnqueueEngine;
  readonly #emit: EmitEvent;
  readonly #backlog: SharedResource;
  readonly #report: ReportChange | undefined;
  readonly #free: Writers;
  readonly #ordered: Writers;
  readonly #large: Writers;
  /**
   * How many large writes each workspace has. Its small requests are then written together with its large ones. In a statement of their
   * own, they would wait for the locks of the workspace's quota and idempotency keys, and so would the small requests of other workspaces
   * in that statement.
   */
  readonly #writingLarge = new Map<WorkspaceId, number>();

  constructor(options: {
    db: Transactional;
    ids: UuidSource;
    outlet: EnqueueEngine;
    emit: EmitEvent;
    backlog: SharedResource;
    report?: ReportChange;
  }) {
    this.#ids = options.ids;
    this.#outlet = options.outlet;
    this.#emit = options.emit;
    this.#backlog = options.backlog;
    this.#report = options.report;
    const batcher = (insert: Insert): Batcher<InsertRequest, EnqueueOutcome> =>
      new Batcher({
        maxWeight: MAX_WEIGHT,
        writers: WRITERS,
        weigh,
        workspaceOf: ({ workspaceId }) => workspaceId,
        write: (requests) => this.#writeGroup(requests, insert),
      });
    const writers = (db: Transactional): Writers => ({
      plain: batcher((leaseId, requests) => insertJobsAcrossWorkspaces(db, leaseId, requests)),
      batches: batcher((leaseId, requests) => insertOrFindAcrossWorkspaces(db, leaseId, requests as BatchRequest[])),
      keyed: batcher((leaseId, requests) => acceptAcrossWorkspaces(db, leaseId, requests, false)),
      limited: batcher((leaseId, requests) => acceptAcrossWorkspaces(db, leaseId, requests, true)),
    });
    this.#free = writers(options.db);
    this.#ordered = writers(options.db);
    // Large writes take long. They leave the other connections to small ones.
    this.#large = writers(new SerialDatabase(options.db));
  }

  /**
   * Stores jobs of one queue, all or none, and returns them in their order once they are durable. A duplicate is returned as the original
   * with the same idempotency key; duplicates whose results together exceed 4 MiB are returned without. The same applies to all jobs of a
   * batch whose key `batch` is known. Returns null when the workspace has no such queue.
   *
   * @throws IDEMPOTENCY_MISMATCH when a key belongs to a different job; QUOTA_EXCEEDED when the month has fewer executions left;
   *   UNAVAILABLE when too many jobs wait to be written, or the database is unavailable
   */
  async enqueue(
    { workspaceId, executionsPerMonth }: Tenant,
    queue: string,
    jobs: readonly NewJob[],
    batch?: Idempotency,
  ): Promise<EnqueuedJob[] | null> {
    const toInsert = jobs.map((job) => ({ ...job, id: this.#ids.next() as JobId, tick: null, eager: false }));
    const request = { workspaceId, queue, jobs: toInsert, ...(batch && { batch }) };
    const weight = weigh(request);
    const turn = this.#backlog.takeInTurn(workspaceId, weight);
    if (turn) await turn;
    const isLarge = weight > MAX_WEIGHT || this.#writingLarge.has(workspaceId);
    if (isLarge) this.#writingLarge.set(workspaceId, (this.#writingLarge.get(workspaceId) ?? 0) + 1);
    let outcome: EnqueueOutcome;
    try {
      outcome = await this.#batcherOf(request, isLarge, executionsPerMonth).add(request);
    } finally {
      this.#written(request, weight, isLarge);
    }
    if (outcome instanceof Error) throw outcome;
    if (!outcome) return null;
    let resultLength = 0;
    return outcome.map((one, index) => {
      if (!("original" in one)) return recordOf(toInsert[index] as JobToInsert, one);
      resultLength += one.original.result?.length ?? 0;
      return { ...one.original, result: resultLength <= MAX_PAGE_BYTES ? one.original.result : null, duplicate: true };
    });
  }

  /** The write of a request has ended: removes its weight from the backlog. */
  #written({ workspaceId }: InsertRequest, weight: number, isLarge: boolean): void {
    this.#backlog.release(workspaceId, weight);
    if (!isLarge) return;
    const left = (this.#writingLarge.get(workspaceId) ?? 0) - 1;
    if (left > 0) this.#writingLarge.set(workspaceId, left);
    else this.#writingLarge.delete(workspaceId);
  }

  #batcherOf({ jobs, batch }: InsertRequest, isLarge: boolean, executionsPerMonth: number | null): Batcher<InsertRequest, EnqueueOutcome> {
    const ordered = jobs.some(({ concurrencyKey }) => concurrencyKey !== null);
    const { plain, batches, keyed, limited } = isLarge ? this.#large : ordered ? this.#ordered : this.#free;
    if (executionsPerMonth !== null) return limited;
    if (batch) return batches;
    return jobs.some(({ idempotency }) => idempotency) ? keyed : plain;
  }

  #writeGroup(requests: InsertRequest[], insert: Insert): Promise<EnqueueOutcome[]> {
    const write = (some: InsertRequest[]) => this.#write(some.length === requests.length ? this.#letThrough(some) : some, insert);
    return writeBatchOrEach(requests, write, (error) => this.#emit("enqueue_batch_split", { requests: requests.length, error }));
  }

  /** Lets single jobs start eagerly while this node has room. None may overtake a job of its queue in the same write. */
  #letThrough(requests: InsertRequest[]): InsertRequest[] {
    let taken = 0;
    const { laneOf } = distinctLanes(requests);
    const behind = new Set<number>();
    return requests.map((request, index) => {
      const { workspaceId, jobs } = request;
      const [job] = jobs;
      const lane = laneOf[index] as number;
      const mayGo = jobs.length === 1 && job?.concurrencyKey === null && !behind.has(lane) && taken < this.#outlet.roomFor(workspaceId);
      if (!mayGo) {
        behind.add(lane);
        return request;
      }
      taken += 1;
      return { ...request, jobs: [{ ...job, eager: true }] };
    });
  }

  async #write(requests: InsertRequest[], insert: Insert): Promise<EnqueueOutcome[]> {
    const { leaseId } = this.#outlet;
    const eager = requests.flatMap(({ jobs }) => jobs.filter((job) => job.eager).map(({ id }) => id));
    const outcomes = await this.#outlet.expecting(eager, async () => {
      const written = await insert(leaseId, requests);
      // The jobs are stored. A failure from here on must not cause another write.
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

  #passOn(requests: InsertRequest[], outcomes: EnqueueOutcome[], leaseId: number | null): void {
    const started: StartedJob[] = [];
    const lanes = new Map<LaneId, LaneKey>();
    const pulled = new Map<LaneId, LaneKey>();
    let count = 0;
    for (const [at, { workspaceId, jobs }] of requests.entries()) {
      const outcome = outcomes[at];
      if (!outcome || outcome instanceof Error) continue;
      this.#report?.(workspaceId, ENQUEUED);
      for (const [index, job] of outcome.entries()) {
        if ("original" in job) continue;
        count += 1;
        if (job.state === "active" && leaseId !== null)
          started.push({ workspaceId, leaseId, inserted: job, input: jobs[index] as JobToInsert });
        else if (job.state === "waiting" && job.served !== "none") {
          const woken = job.served === "push" ? lanes : pulled;
          if (!woken.has(job.laneId)) woken.set(job.laneId, { workspaceId, laneId: job.laneId });
        } else if (job.state === "delayed") this.#outlet.wakeAt(momentMs(job.runAt));
      }
    }
    if (started.length > 0) this.#outlet.take(started);
    if (lanes.size > 0) this.#outlet.wake(lanes.values());
    if (pulled.size > 0) this.#outlet.wakePulled([...pulled.values()]);
    this.#emit("jobs_enqueued", { count });
  }
}
