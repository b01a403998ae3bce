import { LRUCache } from "lru-cache";
import { findWorkers, recordCallsAcrossWorkspaces, type WorkerCall, type WorkerLease } from "#engine";
import { Batcher, type Db, type EmitEvent, MAX_WORKERS, type SharedResource, type Timestamp, tolerate, type WorkspaceId } from "#kernel";
import { growingTo } from "./growing-cache.ts";
import { type KnownWorker, type SeenCall, workerOf } from "./known-worker.ts";
import { namesOf, type RecentLane, RecentLanes } from "./recent-lanes.ts";

const MAX_CANCELLED = 1_000;
/** The maximum number of calls of a workspace that wait to be written. */
const MAX_UNWRITTEN = 10_000;
/** A worker that did not call for this long is forgotten, and looked up again: its lease may be gone. Milliseconds. */
const FORGET_AFTER_MS = 600_000;
/** Resolution of the cache's clock. With the default of 1 ms, look-ups start a timer each millisecond. Milliseconds. */
const TTL_RESOLUTION_MS = 1_000;

/** A call of a worker. */
export interface CallOfWorker extends Omit<WorkerCall, "queues" | "workflows"> {
  /** Empty for a call that only settles. */
  readonly lanes: readonly RecentLane[];
}

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
  #calls = new Map<WorkspaceId, Map<string, [KnownWorker, SeenCall]>>();
  /** Its periods end when calls are written. */
  readonly #recent = new RecentLanes();

  constructor(db: Db, emit: EmitEvent, share: SharedResource) {
    this.#db = db;
    this.#emit = emit;
    this.#share = share;
    const bounds = { ...growingTo(MAX_WORKERS), ttl: FORGET_AFTER_MS, ttlResolution: TTL_RESOLUTION_MS, updateAgeOnGet: true };
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
  async calls(call: CallOfWorker): Promise<KnownWorker> {
    const key = nameKey(call);
    const known = this.#byName.get(key);
    if (known) {
      const worker = this.#current(await known);
      worker.version = call.version;
      this.#keepCall(worker, call);
      if (this.#recent.add(worker, call.lanes)) void this.#writeAtOnce(worker, call);
      return worker;
    }
    this.#share.takeOrRefuse(call.workspaceId);
    const opening = this.#open(call);
    this.#byName.set(key, opening);
    opening.catch(() => this.#byName.delete(key));
    return opening;
  }

  async #open({ lanes, ...call }: CallOfWorker): Promise<KnownWorker> {
    try {
      const lease = await this.#opening.add({ ...call, ...namesOf(lanes) });
      if (!this.#byLease.has(lease.leaseId)) this.#byLease.set(lease.leaseId, workerOf(lease));
      else this.#share.release(call.workspaceId);
      const worker = this.#byLease.get(lease.leaseId) as KnownWorker;
      worker.version = call.version;
      worker.asked.clear();
      this.#recent.add(worker, lanes);
      return worker;
    } catch (error) {
      this.#share.release(call.workspaceId);
      throw error;
    }
  }

  /** Writes a call that asks for something new. At most one write of a worker is under way. */
  async #writeAtOnce(worker: KnownWorker, { version, seenAt }: CallOfWorker): Promise<void> {
    worker.unwritten = { version, seenAt };
    if (worker.isBeingWritten) return;
    worker.isBeingWritten = true;
    while (worker.unwritten) {
      const call = this.#recordOf(worker, worker.unwritten);
      worker.unwritten = null;
      await tolerate(
        () => this.#asking.add(call),
        (error) => this.#emit("worker_record_failed", { error }),
      );
    }
    worker.isBeingWritten = false;
  }

  #recordOf(worker: KnownWorker, { version, seenAt }: SeenCall): WorkerCall {
    const { workspaceId, name } = worker;
    return { workspaceId, name, version, seenAt, ...this.#recent.namesOf(worker) };
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

  /** A worker extended a lease. It may be too busy to ask for anything. */
  extended(worker: KnownWorker, seenAt: Timestamp): void {
    this.#keepCall(worker, { version: worker.version, seenAt });
  }

  /** When more of a workspace's workers call than are written at a time, the others are written after their next calls. */
  #keepCall(worker: KnownWorker, { version, seenAt }: SeenCall): void {
    const { workspaceId, name } = worker;
    const calls = this.#calls.get(workspaceId) ?? new Map<string, [KnownWorker, SeenCall]>();
    if (calls.size >= MAX_UNWRITTEN && !calls.has(name)) return;
    calls.set(name, [worker, { version, seenAt }]);
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
    this.#recent.beginPeriod();
    for (let from = 0; from < calls.length; from += 1_000) {
      const records = calls.slice(from, from + 1_000).map(([worker, call]) => this.#recordOf(worker, call));
      await tolerate(
        () => recordCallsAcrossWorkspaces(this.#db, records),
        (error) => this.#emit("worker_record_failed", { error }),
      );
    }
  }
}

const nameKey = ({ workspaceId, name }: Pick<WorkerCall, "workspaceId" | "name">): string => `${workspaceId}/${name}`;
