import type { Module } from "#http";
import {
  claimForWorkersAcrossWorkspaces,
  claimFromBacklogAcrossWorkspaces,
  type EnqueueEngine,
  type Holder,
  type LaneFound,
  showJobId,
  type VersionFilter,
  WORK_MAY_WAIT,
  type WorkerClaim,
} from "#jobs";
import {
  type Config,
  type Connection,
  type Database,
  type DatabaseClock,
  DeadlineLoop,
  type EmitEvent,
  fragment,
  type JobId,
  Listener,
  type LockWaits,
  PeriodicLoop,
  type Random,
  type ReportChange,
  type RunId,
  type Service,
  type Transactional,
  tolerate,
  typeId,
  type UuidSource,
} from "#kernel";
import type { Aborter, LaneKey, PulledWaker, Waker } from "#lanes";
import { reassignKeySlotsAcrossWorkspaces } from "./assign-key-slots.ts";
import { Broadcaster, handleMessages, type Message, type MessageHandlers, WAKE_CHANNEL } from "./broadcast.ts";
import { PromoteDelayed } from "./come-due.ts";
import { Dispatcher } from "./dispatcher.ts";
import { finishAllForWorker, type WorkerResult } from "./finish-for-worker.ts";
import { type JobKind, JobKinds } from "./kinds.ts";
import type { AttemptShares } from "./lane-shares.ts";
import { factsOfNode } from "./leases/node-facts.ts";
import { NodeLease } from "./leases/node-lease.ts";
import { mountNodes } from "./leases/node-routes.ts";
import { removeOldLeases } from "./leases/store.ts";
import { recordsOf, reportingWaker } from "./report-changes.ts";
import { Rescue, releaseAll } from "./rescue.ts";
import { Settler } from "./settle.ts";
import { WorkScan } from "./work-scan.ts";

const HOUR_MS = 3_600_000;
/** How long a stopping node waits for aborted attempts to end, and then for outcomes to be written. After that, it releases their claims. */
const SETTLE_AT_STOP_SECONDS = 5;

export interface EngineOptions {
  readonly config: Config;
  readonly shares: AttemptShares;
  readonly clock: DatabaseClock;
  readonly random: Random;
  readonly ids: UuidSource;
  readonly version: string;
  /** Where this node can be reached. Called once it listens. */
  readonly nodeUrl: () => string;
  readonly emit: EmitEvent;
  /** Gets changes of workspaces' records. */
  readonly report: ReportChange;
  readonly databases: {
    readonly api: Database;
    readonly engine: Database;
    readonly lockWaits: LockWaits;
    readonly claims: Database;
    readonly housekeeping: Transactional;
    readonly lease: Database;
    readonly connection: Connection;
    readonly makeRoom: () => Promise<unknown>;
  };
  readonly kinds: readonly JobKind[];
  /** The ids of the master keys that this node has, and what to do when it lacks the one that the vault uses. */
  readonly masterKeys: { readonly ids: () => readonly string[]; readonly onMissing: (id: string) => void };
  /** What other modules do with messages from other nodes. */
  readonly handlers: Pick<
    MessageHandlers,
    | "workspaceChanged"
    | "personChanged"
    | "workspaceDeleted"
    | "masterKeyChanged"
    | "runChanged"
    | "workspaceFollowed"
    | "recordsChanged"
    | "followersWanted"
  >;
  /** Looks for all work that other nodes may have announced, because a message may have been missed. */
  readonly look: () => void;
  /** Handlers for jobs of lanes that workers serve. */
  readonly onPulled: {
    /** Jobs of these lanes may be claimable. */
    readonly woken: (lanes: readonly LaneKey[]) => void;
    /** A job or run was cancelled while this lease held it. `id` is as the API shows it. */
    readonly cancelled: (leaseId: number, id: string) => void;
    readonly laneDeleted: (lane: LaneKey) => void;
    /** Whether the latest claim from a lane, on this node, has found limits. */
    readonly isLimited: (lane: LaneKey) => boolean;
  };
}

/** Jobs that were claimed for workers, and what the claim found of their lanes. */
interface ClaimedForWorkers {
  readonly claims: WorkerClaim[];
  readonly found: LaneFound[];
}

/** The engine as other modules use it. */
export interface Engine extends Required<Pick<Module, "due" | "operatorRoutes">> {
  readonly waker: Waker & PulledWaker;
  readonly aborter: Aborter;
  readonly outlet: EnqueueEngine;
  /** The node's lease. Stopping it releases all claims under it. */
  readonly lease: Pick<NodeLease, "id" | "heldBy" | "refresh"> & Service;
  /** Looks for work, takes back claims, and listens to other nodes. */
  readonly loops: readonly Service[];
  /** The attempts under way. Its stop waits for them, ends the rest, and settles them. */
  readonly attempts: Service;
  /** How many jobs the next write may start eagerly on this node. */
  room(): number;
  /** Sends a message to the other nodes, if there are any. */
  notify(message: Message): void;
  /** Sends a message to the other nodes, one of which has just asked for it: this node may not know yet that there is one. */
  reply(message: Message): void;
  /** Reassigns the slots of keys, after a limit per key changed. */
  reassignKeySlots(): void;
  /** Claims jobs for workers: under their leases, from lanes that workers serve. Claims nothing while the node has no lease of its own. */
  claimForWorkers(holders: readonly Holder[], limited: boolean, filter: VersionFilter | null): Promise<ClaimedForWorkers>;
  /** The same from one queue that probably has more jobs than are requested. It may bring fewer than there are. */
  claimFromBacklog(holders: readonly Holder[]): Promise<WorkerClaim[]>;
  /** Settles attempts of a worker. Each result is false if the worker no longer held the job. */
  finishForWorker(results: readonly WorkerResult[]): Promise<boolean[]>;
  /** Stops claiming. From now on, attempts under way have the drain time to end. */
  drain(): void;
}

/** Claims, delivers and settles jobs for this node, takes back claims of lost nodes, and keeps the node's lease. */
export function createEngine(options: EngineOptions): Engine {
  const { config, shares, clock, random, ids, version, nodeUrl, emit, report, databases, masterKeys, handlers, look, onPulled } = options;
  const { engine: db, lockWaits } = databases;
  const kinds = new JobKinds(options.kinds);
  const settler = new Settler(
    db,
    kinds,
    emit,
    lockWaits,
    (lanes) => {
      const { push = [], unknown = [] } = Object.groupBy(lanes, ({ served }) => served ?? "unknown");
      if (push.length > 0) dispatcher.wake(push);
      if (unknown.length > 0) dispatcher.wakeWorkflows(unknown);
    },
    report,
  );
  const broadcaster = new Broadcaster(db, emit);

  const lease: NodeLease = new NodeLease({
    db: databases.lease,
    clock,
    random,
    emit,
    leaseSeconds: config.nodeLeaseSeconds,
    facts: factsOfNode(config, ids.next(), version),
    url: nodeUrl,
    masterKeyIds: masterKeys.ids,
    onKeyMissing: masterKeys.onMissing,
    onLost: () => dispatcher.abortAll(),
    onGap: () => {
      // The node that is gone may have held jobs.
      takeBack.wake();
      look();
    },
  });
  const notify = (message: Message) => {
    if (lease.peers > 0) broadcaster.send(message);
  };
  const dispatcher: Dispatcher = new Dispatcher({
    db,
    claims: databases.claims,
    clock,
    random,
    emit,
    report,
    lease,
    settler,
    kinds,
    shares,
    onWaiting: (lanes: Iterable<LaneKey>, served) => {
      const kind = served === "pull" ? "pulledLaneWoken" : "laneWoken";
      for (const { workspaceId, laneId } of lanes) notify({ kind, lane: { workspaceId, laneId } });
    },
    onDueAt: (ms) => comeDue.expect(ms),
    onPulled: onPulled.woken,
  });
  const abortJobHere = (id: JobId, leaseId: number) => {
    dispatcher.abort(id);
    onPulled.cancelled(leaseId, showJobId(id));
  };
  const abortRunHere = (id: RunId, leaseId: number) => {
    dispatcher.abort(id as string as JobId);
    onPulled.cancelled(leaseId, typeId("run", id));
  };
  const abortLaneHere = (lane: LaneKey) => {
    dispatcher.abortLane(lane.laneId);
    onPulled.laneDeleted(lane);
  };
  const moving = reportingWaker(dispatcher, report);
  const rescueOptions = { db, clock, random, emit, kinds, settler, lockWaits, waker: moving };
  const rescue = new Rescue(rescueOptions);

  const deadlineLoop = (name: string, pass: () => Promise<unknown>) =>
    new DeadlineLoop({ name, horizonMs: config.pollEveryMs, pass }, clock, emit, random);
  const dueJobs = new PromoteDelayed(db, moving, lockWaits, emit);
  const comeDue = deadlineLoop("come-due", () => dueJobs.pass());
  const workScan = new WorkScan(db, clock, dispatcher);
  const lookForWork = deadlineLoop("scan-for-work", () => workScan.pass());
  const reassign = deadlineLoop("reassign-key-slots", () => reassignKeySlotsAcrossWorkspaces(db, dispatcher));
  const periodic = (name: string, everyMs: number, pass: () => Promise<unknown>, isPatient = false) =>
    new PeriodicLoop({ name, everyMs, pass, isPatient }, emit, random);

  // Extensions of leases that came in time are stored first.
  const takeBack = periodic("rescue", (config.nodeLeaseSeconds * 1000) / 3, () => rescue.passAcrossWorkspaces(), true);

  const listener = new Listener({
    connection: databases.connection,
    channel: WAKE_CHANNEL,
    makeRoom: databases.makeRoom,
    emit,
    onGap: look,
    onMessage: (payload) =>
      handleMessages(payload, {
        ...handlers,
        laneWoken: ({ lane }) => dispatcher.wake([lane], "node"),
        pulledLaneWoken: ({ lane }) => onPulled.woken([lane]),
        jobCancelled: ({ leaseId, id }) => abortJobHere(id, leaseId),
        runCancelled: ({ leaseId, id }) => abortRunHere(id, leaseId),
        laneDeleted: ({ lane }) => abortLaneHere(lane),
        workspaceDeleted: (message) => {
          dispatcher.abortWorkspace(message.workspaceId);
          handlers.workspaceDeleted(message);
        },
        nodeStarted: () => lease.refresh(),
        lookEverywhere: look,
      }),
  });

  const nodeLease = {
    get id() {
      return lease.id;
    },
    get heldBy() {
      return lease.heldBy;
    },
    refresh: () => lease.refresh(),
    start: async () => {
      await lease.start();
      if (lease.peers > 0) broadcaster.send({ kind: "nodeStarted" });
    },
    stop: async () => {
      await lease.stop();
      // Rescues may have begun some since the attempts were settled.
      settler.giveUp();
      const onFailed = (error: unknown) => emit("release_failed", { error });
      await tolerate(async () => {
        if (lease.id !== null) await releaseAll(rescueOptions, lease.id);
      }, onFailed);
      // Even if jobs are left: other nodes rescue them now, and not only when the lease would expire.
      await tolerate(() => lease.release(), onFailed);
      // Last, so that other nodes learn about every job that was released.
      await broadcaster.flush();
    },
  };

  /** Claims for workers, unless the node has no lease of its own, and reports what changed. */
  const claimUnderLease = async (claim: (leaseId: number) => Promise<ClaimedForWorkers>): Promise<ClaimedForWorkers> => {
    if (lease.heldBy === null) return { claims: [], found: [] };
    const claimed = await claim(lease.heldBy);
    for (const { workspaceId, kind } of claimed.claims) report(workspaceId, recordsOf(kind));
    return claimed;
  };

  const isLimited = (lane: LaneKey) => onPulled.isLimited(lane) || dispatcher.isLimited(lane);

  let drainUntilMs = 0;
  const drain = () => {
    emit("node_drain_started", { inFlight: dispatcher.inFlight });
    dispatcher.stopClaiming();
    lease.drain();
    drainUntilMs = clock.elapsedMs() + config.drainSeconds * 1000;
  };
  /** Stopping waits for the attempts under way, aborts the rest, and settles all of them. */
  const attempts: Service = {
    start: () => {},
    stop: async () => {
      dispatcher.stopClaiming();
      await dispatcher.idle(Math.max(0, (drainUntilMs - clock.elapsedMs()) / 1000));
      dispatcher.endAttempts();
      await dispatcher.idle(SETTLE_AT_STOP_SECONDS);
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(() => {
        settler.giveUp();
        late.resolve();
      }, SETTLE_AT_STOP_SECONDS * 1000).unref();
      await Promise.race([settler.settled(), late.promise]).finally(() => clearTimeout(timer));
    },
  };

  return {
    waker: dispatcher,
    aborter: {
      abortJob: (id, leaseId) => {
        abortJobHere(id, leaseId);
        if (leaseId !== lease.id) notify({ kind: "jobCancelled", leaseId, id });
      },
      abortRun: (id, leaseId) => {
        abortRunHere(id, leaseId);
        if (leaseId !== lease.id) notify({ kind: "runCancelled", leaseId, id });
      },
      abortLane: (lane) => {
        abortLaneHere(lane);
        notify({ kind: "laneDeleted", lane });
      },
      abortWorkspace: (workspaceId) => {
        dispatcher.abortWorkspace(workspaceId);
        notify({ kind: "workspaceDeleted", workspaceId });
      },
    },
    outlet: dispatcher,
    lease: nodeLease,
    room: () => dispatcher.room(),
    notify,
    reply: (message) => broadcaster.send(message),
    reassignKeySlots: () => reassign.wake(),
    claimForWorkers: (holders, limited, filter) =>
      claimUnderLease((leaseId) => claimForWorkersAcrossWorkspaces(databases.claims, leaseId, holders, limited, filter)),
    claimFromBacklog: async (holders) => {
      const { claims } = await claimUnderLease(async (leaseId) => ({
        claims: await claimFromBacklogAcrossWorkspaces(databases.claims, leaseId, holders),
        found: [],
      }));
      return claims;
    },
    finishForWorker: (results) => finishAllForWorker({ clock, random, kinds, settler, isLimited, waker: dispatcher }, results),
    drain,
    loops: [
      lookForWork,
      comeDue,
      dueJobs,
      reassign,
      takeBack,
      rescue,
      periodic("remove-old-leases", HOUR_MS, () => removeOldLeases(databases.housekeeping)),
      listener,
    ],
    attempts,
    operatorRoutes: (api) => mountNodes(api, databases.api),
    due: [
      { loop: lookForWork, nextDue: WORK_MAY_WAIT },
      { loop: comeDue, nextDue: fragment`select run_at from job where state = 'delayed' order by run_at limit 1` },
      {
        loop: reassign,
        nextDue: fragment`select moment() from lane where reassign_after_key is not null and deleted_at is null order by workspace_id, id limit 1`,
      },
    ],
  };
}
