import { LRUCache } from "lru-cache";
import { findWorkers, recordCallsAcrossWorkspaces, type WorkerCall, type WorkerLease } from "#engine";
import { Batcher, type Db, type EmitEvent, MAX_WORKERS, type SharedResource, tolerate, type WorkspaceId } from "#kernel";
import { growingTo } from "./growing-cache.ts";
import { type AskedFor, type KnownWorker, workerOf } from "./known-worker.ts";

const MAX_CANCELLED = 1_000;
/** The maximum number of calls of a workspace that wait to be written. */
const MAX_UNWRITTEN = 10_000;
/** The maximum number of queues and workflows of a worker that are written with what it begins to ask for. */
const MAX_ASKED = 1_000;
/** A worker that did not call for this long is forgotten, and looked up again: its lease may be gone. Milliseconds. */
const FORGET_AFTER_MS = 600_000;

/**
 * The workers that call this node, with their leases. Workspaces share the room for them. When they last called is written from time to
 * time, for all at once, so that a worker that waits costs no statement. A queue or workflow that a worker begins to ask for is written at
 * once: `explain` says whether anybody asks.
 */
export class KnownWorkers {
  readonly #db: Db;
  readonly #emit: EmitEvent;
  readonly #share: SharedResource;
  readonly #byName: LRUCache<string, Promise<KnownWorker>>;
  /** Workers by lease. Each takes one unit of the share. */
  readonly #byLease: LRUCache<number, KnownWorker>;
  readonly #opening: Batcher<WorkerCall, WorkerLease>;
  /** What known workers begin to ask for. First calls of others do not wait for these. */
  readonly #asking: Batcher<WorkerCall, WorkerLease>;
  /** The latest calls that are not written yet, by workspace and name. */
  #calls = new Map<WorkspaceId, Map<string, WorkerCall>>();
  /** Increases each time that calls are written. */
  #period = 0;

  constructor(db: Db, emit: EmitEvent, share: SharedResource) {
    this.#db = db;
    this.#emit = emit;
    this.#share = share;
    const bounds = { ...growingTo(MAX_WORKERS), ttl: FORGET_AFTER_MS, updateAgeOnGet: true };
    this.#byName = new LRUCache(bounds);
    this.#byLease = new LRUCache({ ...bounds, dispose: ({ workspaceId }) => share.release(workspaceId) });
    const batcher = () =>
      new Batcher<WorkerCall, WorkerLease>({
        maxWeight: 100,
        writers: 1,
        workspaceOf: ({ workspaceId }) => workspaceId,
        write: async (calls) => {
          const distinct = new Map(calls.map((call) => [nameKey(call), call]));
          const opened = new Map((await recordCallsAcrossWorkspaces(db, [...distinct.values()])).map((one) => [nameKey(one), one]));
          return calls.map((call) => opened.get(nameKey(call)) as WorkerLease);
        },
      });
    this.#opening = batcher();
    this.#asking = batcher();
  }

  /**
   * Registers a call, and returns its worker.
   *
   * @throws UNAVAILABLE when the workspace has used its share of the room for workers
   */
  async calls(call: WorkerCall): Promise<KnownWorker> {
    const key = nameKey(call);
    const known = this.#byName.get(key);
    if (known) {
      this.#record(call);
      const worker = this.#current(await known);
      this.#writeNewlyAsked(worker, call);
      return worker;
    }
    this.#share.takeOrRefuse(call.workspaceId);
    const opening = this.#open(call);
    this.#byName.set(key, opening);
    opening.catch(() => this.#byName.delete(key));
    return opening;
  }

  async #open(call: WorkerCall): Promise<KnownWorker> {
    try {
      const lease = await this.#opening.add(call);
      if (!this.#byLease.has(lease.leaseId)) this.#byLease.set(lease.leaseId, workerOf(lease));
      else this.#share.release(call.workspaceId);
      const worker = this.#byLease.get(lease.leaseId) as KnownWorker;
      worker.asked = this.#askedBy(call);
      return worker;
    } catch (error) {
      this.#share.release(call.workspaceId);
      throw error;
    }
  }

  #askedBy({ queues, workflows }: Pick<WorkerCall, "queues" | "workflows">): AskedFor {
    return { period: this.#period, queues: new Set(queues), workflows: new Set(workflows) };
  }

  /**
   * Writes a call that asks for something new, with what the worker asked for before: a worker that is busy asks for some of its queues. At
   * most one write of a worker is under way.
   */
  #writeNewlyAsked(worker: KnownWorker, call: WorkerCall): void {
    if (!asksForWork(call) || worker.isBeingWritten) return;
    const { period, queues: oldQueues, workflows: oldWorkflows } = worker.asked;
    const isNew = call.queues.some((name) => !oldQueues.has(name)) || call.workflows.some((name) => !oldWorkflows.has(name));
    if (!isNew && period === this.#period) return;
    const keepsOld = period === this.#period && oldQueues.size + oldWorkflows.size <= MAX_ASKED;
    const queues = keepsOld ? [...new Set([...oldQueues, ...call.queues])] : call.queues;
    const workflows = keepsOld ? [...new Set([...oldWorkflows, ...call.workflows])] : call.workflows;
    worker.asked = this.#askedBy({ queues, workflows });
    if (!isNew) return;
    worker.isBeingWritten = true;
    void tolerate(
      () => this.#asking.add({ ...call, queues, workflows }),
      (error) => this.#emit("worker_record_failed", { error }),
    ).finally(() => {
      worker.isBeingWritten = false;
    });
  }

  /**
   * A worker that only waits is not looked up by its lease, and could be dropped from that cache. There must be only one object for a
   * worker, which gets the notifications.
   */
  #current(worker: KnownWorker): KnownWorker {
    return this.#byLease.get(worker.leaseId) ?? this.#keep(worker);
  }

  /** A worker for which the workspace's share has no room is not notified of cancelled jobs. */
  #keep(worker: KnownWorker): KnownWorker {
    if (this.#share.tryTake(worker.workspaceId)) this.#byLease.set(worker.leaseId, worker);
    return worker;
  }

  /** When more of a workspace's workers call than are written at a time, the others are written after their next calls. */
  #record(call: WorkerCall): void {
    const { workspaceId, name } = call;
    const calls = this.#calls.get(workspaceId) ?? new Map<string, WorkerCall>();
    if (calls.size >= MAX_UNWRITTEN && !calls.has(name)) return;
    // A call that only settles does not say which queues the worker serves.
    const { queues, workflows } = asksForWork(call) ? call : (calls.get(name) ?? call);
    calls.set(name, { ...call, queues, workflows });
    this.#calls.set(workspaceId, calls);
  }

  /** The workers of a workspace with these leases. */
  async withLeases(db: Db, workspaceId: WorkspaceId, leaseIds: ReadonlySet<number>): Promise<ReadonlyMap<number, KnownWorker>> {
    const known = [...leaseIds].flatMap((leaseId) => this.#byLease.get(leaseId) ?? []);
    const unknown = [...leaseIds].filter((leaseId) => !this.#byLease.has(leaseId));
    for (const lease of unknown.length > 0 ? await findWorkers(db, workspaceId, unknown) : [])
      known.push(this.#byLease.get(lease.leaseId) ?? this.#keep(workerOf(lease)));
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

  /** Writes when workers last called. Forgets those that have not called for long. */
  async writeCalls(): Promise<undefined> {
    this.#byName.purgeStale();
    this.#byLease.purgeStale();
    const calls = [...this.#calls.values()].flatMap((ofWorkspace) => [...ofWorkspace.values()]);
    this.#calls = new Map();
    this.#period += 1;
    for (let from = 0; from < calls.length; from += 1_000) {
      await tolerate(
        () => recordCallsAcrossWorkspaces(this.#db, calls.slice(from, from + 1_000)),
        (error) => this.#emit("worker_record_failed", { error }),
      );
    }
  }
}

const asksForWork = ({ queues, workflows }: WorkerCall): boolean => queues.length > 0 || workflows.length > 0;

const nameKey = ({ workspaceId, name }: Pick<WorkerCall, "workspaceId" | "name">): string => `${workspaceId}/${name}`;
