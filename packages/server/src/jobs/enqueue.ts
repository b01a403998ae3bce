import {
  Batcher,
  type Db,
  type EmitEvent,
  type JobId,
  momentMs,
  type ProblemError,
  problem,
  tolerate,
  type UuidSource,
  unavailable,
  type WorkspaceId,
} from "#kernel";
import type { LaneId } from "#queues";
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

const WRITERS = 1;

const weigh = ({ jobs }: InsertRequest): number => jobs.reduce((sum, { payload }) => sum + weightOf(payload), 0);

/** Takes jobs in: what arrives while a write is under way is written together with the next one (I1). */
export class Enqueuer {
  readonly #db: Db;
  readonly #ids: UuidSource;
  readonly #outlet: Outlet;
  readonly #emit: EmitEvent;
  readonly #mostWaiting: number;
  readonly #batcher: Batcher<InsertRequest, InsertedJob[] | ProblemError>;

  constructor(options: { db: Db; ids: UuidSource; outlet: Outlet; emit: EmitEvent; mostWaiting: number }) {
    this.#db = options.db;
    this.#ids = options.ids;
    this.#outlet = options.outlet;
    this.#emit = options.emit;
    this.#mostWaiting = options.mostWaiting;
    this.#batcher = new Batcher({ most: MOST_WEIGHT, writers: WRITERS, weigh, write: (requests) => this.#writeGroup(requests) });
  }

  /**
   * Stores jobs of one queue, all or none, and answers them in their order once they are durable.
   *
   * @throws NOT_FOUND when the workspace has no such queue; UNAVAILABLE when too many jobs wait to be written, or the
   *   database is away
   */
  async enqueue(workspaceId: WorkspaceId, queue: string, jobs: readonly NewJob[]): Promise<JobRow[]> {
    if (this.#batcher.waiting + jobs.length > this.#mostWaiting) throw unavailable("Too many jobs are waiting to be stored.");
    const toInsert = jobs.map((job) => ({ ...job, id: this.#ids.next() as JobId, straight: false }));
    const inserted = await this.#batcher.add({ workspaceId, queue, jobs: toInsert });
    if (!Array.isArray(inserted)) throw inserted;
    return inserted.map((row, index) => recordOf(toInsert[index] as JobToInsert, row));
  }

  async #writeGroup(requests: InsertRequest[]): Promise<(InsertedJob[] | ProblemError)[]> {
    try {
      return await this.#write(this.#letThrough(requests));
    } catch (error) {
      // One request's job that the database refuses must not fail its neighbours.
      if (requests.length === 1 || isAway(error)) throw error;
      this.#emit("enqueue_group_split", { requests: requests.length, error });
      const outcomes = await Promise.allSettled(requests.map((request) => this.#write([request])));
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
      if (!job || request.jobs.length > 1 || room <= 0 || behind.has(lane)) {
        behind.add(lane);
        return request;
      }
      room -= 1;
      return { ...request, jobs: [{ ...job, straight: true }] };
    });
  }

  async #write(requests: InsertRequest[]): Promise<(InsertedJob[] | ProblemError)[]> {
    const { nodeId } = this.#outlet;
    const straight = requests.flatMap(({ jobs }) => jobs.filter((job) => job.straight).map(({ id }) => id));
    const inserted = await this.#outlet.expecting(straight, async () => {
      const stored = await insertJobsAcrossWorkspaces(this.#db, nodeId, requests);
      // The jobs are stored: whatever fails from here on must not have them written again.
      await tolerate(
        async () => this.#passOn(requests, stored, nodeId),
        (error) => this.#emit("pass_on_failed", { error }),
      );
      return stored;
    });
    return inserted.map((jobs) => jobs ?? problem("NOT_FOUND"));
  }

  #passOn(requests: InsertRequest[], inserted: (InsertedJob[] | null)[], nodeId: number | null): void {
    const started: StartedJob[] = [];
    const lanes = new Map<LaneId, { workspaceId: WorkspaceId; laneId: LaneId }>();
    let count = 0;
    for (const [at, { workspaceId, jobs }] of requests.entries()) {
      for (const [index, job] of (inserted[at] ?? []).entries()) {
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

const isAway = (error: unknown): boolean => (error as Partial<ProblemError>).code === "UNAVAILABLE";

/** The job as it was accepted. One that went straight through was started in the same breath; its record says so from then on. */
function recordOf(input: JobToInsert, inserted: InsertedJob): JobRow {
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
  };
}
