import { LRUCache } from "lru-cache";
import { findWorkers, recordCallsAcrossWorkspaces, type WorkerCall, type WorkerLease } from "#engine";
import { Batcher, type Db, type EmitEvent, tolerate, type WorkspaceId } from "#kernel";

/** A worker that this node knows. */
export interface KnownWorker {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  readonly leaseId: number;
  /** As its tokens contain it. */
  readonly secret: string;
  /** Ids of jobs and runs that were cancelled while it held them, as the API shows them. No response has named them yet. */
  readonly cancelled: Set<string>;
  /** Called when a job is cancelled. */
  readonly onCancelled: Set<() => void>;
}

const MAX_WORKERS = 50_000;
const MAX_CANCELLED = 1_000;
/** Calls of a workspace that wait to be written. */
const MAX_UNWRITTEN = 10_000;
/** A worker that did not call for this long is looked up again: its lease may be gone. Milliseconds. */
const FORGET_AFTER_MS = 600_000;

/**
 * The workers that call this node, with their leases. When they last called is written from time to time, for all at once, so that a
 * worker that waits costs no statement.
 */
export class KnownWorkers {
  readonly #db: Db;
  readonly #emit: EmitEvent;
  readonly #byName = new LRUCache<string, Promise<KnownWorker>>({ max: MAX_WORKERS, ttl: FORGET_AFTER_MS, updateAgeOnGet: true });
  readonly #byLease = new LRUCache<number, KnownWorker>({ max: MAX_WORKERS, ttl: FORGET_AFTER_MS, updateAgeOnGet: true });
  readonly #opening: Batcher<WorkerCall, KnownWorker>;
  /** The latest calls that are not written yet, by workspace and name. */
  #calls = new Map<WorkspaceId, Map<string, WorkerCall>>();

  constructor(db: Db, emit: EmitEvent) {
    this.#db = db;
    this.#emit = emit;
    this.#opening = new Batcher({
      maxWeight: 100,
      writers: 1,
      workspaceOf: ({ workspaceId }) => workspaceId,
      write: async (calls) => {
        const distinct = new Map(calls.map((call) => [nameKey(call), call]));
        const opened = new Map(
          (await recordCallsAcrossWorkspaces(db, [...distinct.values()])).map((one) => [nameKey(one), this.#know(one)]),
        );
        return calls.map((call) => opened.get(nameKey(call)) as KnownWorker);
      },
    });
  }

  /** The worker that calls. */
  async calls(call: WorkerCall): Promise<KnownWorker> {
    const key = nameKey(call);
    const known = this.#byName.get(key);
    if (known) {
      this.#record(call);
      return this.#current(await known);
    }
    const opening = this.#opening.add(call);
    this.#byName.set(key, opening);
    opening.catch(() => this.#byName.delete(key));
    return opening;
  }

  /** A worker that only waits is not looked up by its lease, and could be forgotten there. There must be one of it, which is notified. */
  #current(worker: KnownWorker): KnownWorker {
    const known = this.#byLease.get(worker.leaseId);
    if (!known) this.#byLease.set(worker.leaseId, worker);
    return known ?? worker;
  }

  /** When more of a workspace's workers call than are written at a time, the others are written after their next calls. */
  #record(call: WorkerCall): void {
    const { workspaceId, name } = call;
    const calls = this.#calls.get(workspaceId) ?? new Map<string, WorkerCall>();
    if (calls.size >= MAX_UNWRITTEN && !calls.has(name)) return;
    // A call that only settles says nothing about what the worker asks for.
    const { queues, workflows } = asksForWork(call) ? call : (calls.get(name) ?? call);
    calls.set(name, { ...call, queues, workflows });
    this.#calls.set(workspaceId, calls);
  }

  /** The workers of a workspace with these leases. */
  async withLeases(db: Db, workspaceId: WorkspaceId, leaseIds: ReadonlySet<number>): Promise<ReadonlyMap<number, KnownWorker>> {
    const unknown = [...leaseIds].filter((leaseId) => !this.#byLease.has(leaseId));
    if (unknown.length > 0) for (const found of await findWorkers(db, workspaceId, unknown)) this.#know(found);
    const known = [...leaseIds].flatMap((leaseId) => this.#byLease.get(leaseId) ?? []);
    return new Map(known.filter((one) => one.workspaceId === workspaceId).map((one) => [one.leaseId, one]));
  }

  /** The leases of a workspace's workers. */
  leasesOf(workspaceId: WorkspaceId): number[] {
    return [...this.#byLease.values()].filter((one) => one.workspaceId === workspaceId).map(({ leaseId }) => leaseId);
  }

  /** A job or run was cancelled while this lease held it. */
  cancelled(leaseId: number, id: string): void {
    const worker = this.#byLease.get(leaseId);
    if (!worker) return;
    if (worker.cancelled.size < MAX_CANCELLED) worker.cancelled.add(id);
    for (const report of [...worker.onCancelled]) report();
  }

  /** Writes when workers last called. */
  async writeCalls(): Promise<undefined> {
    const calls = [...this.#calls.values()].flatMap((ofWorkspace) => [...ofWorkspace.values()]);
    this.#calls = new Map();
    for (let from = 0; from < calls.length; from += 1_000) {
      await tolerate(
        () => recordCallsAcrossWorkspaces(this.#db, calls.slice(from, from + 1_000)),
        (error) => this.#emit("worker_record_failed", { error }),
      );
    }
  }

  #know({ workspaceId, name, leaseId, secret }: WorkerLease): KnownWorker {
    const known = this.#byLease.get(leaseId);
    if (known) return known;
    const worker = {
      workspaceId,
      name,
      leaseId,
      secret: secret.toString("base64url"),
      cancelled: new Set<string>(),
      onCancelled: new Set<() => void>(),
    };
    this.#byLease.set(leaseId, worker);
    return worker;
  }
}

const asksForWork = ({ queues, workflows }: WorkerCall): boolean => queues.length > 0 || workflows.length > 0;

const nameKey = ({ workspaceId, name }: Pick<WorkerCall, "workspaceId" | "name">): string => `${workspaceId}/${name}`;
