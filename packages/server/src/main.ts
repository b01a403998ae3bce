import { readFileSync } from "node:fs";
import { decideOverdueAcrossWorkspaces } from "#approvals";
import { CallbackCarrier, Endpoints } from "#callbacks";
import {
  arrangeAcrossWorkspaces,
  Broadcaster,
  changeKeyLimit,
  circuitOf,
  comeDueAcrossWorkspaces,
  countNodes,
  Dispatcher,
  forgetCircuit,
  giveBackAll,
  hear,
  type LaneKey,
  type Message,
  NodeLease,
  Settler,
  WAKE_CHANNEL,
} from "#dispatch";
import { closeAtOnce, closeGently, createApi, listen } from "#http";
import { Enqueuer, metricsOf } from "#jobs";
import {
  Clockwork,
  type Config,
  createMetrics,
  DatabaseClock,
  type Db,
  Events,
  Listener,
  Loop,
  logEvents,
  migrate,
  type Random,
  systemRandom,
  tolerate,
  type WorkspaceId,
} from "#kernel";
import { createAddressGuard, Sender } from "#outbound";
import { markQueuesDeleted } from "#queues";
import { keepPartitions } from "#retention";
import { Calendars, type Fired, removeSchedules, removeSchedulesOf, tickAcrossWorkspaces } from "#schedules";
import { openVault, removeSecrets, SecretAccess } from "#secrets";
import { RequestRate } from "#usage";
import { createFirstWorkspace, createRegistrar, KeyUses, PrincipalFinder } from "#workspaces";
import { mountInternal, mountPublic } from "./app.ts";
import { backgroundLoops } from "./background.ts";
import { openDatabases } from "./databases.ts";

export { decideJob, listPending, type Ruling } from "#approvals";
export { type ChainReport, type NotedHead, verifyAuditAcrossWorkspaces } from "#audit";
export { Broadcaster, countNodesWithout, explainJob, type Message } from "#dispatch";
export { type JobRow, readJobId, showJob, showJobId } from "#jobs";
export {
  type Config,
  ConfigError,
  type Database,
  DatabaseClock,
  describeConfig,
  Events,
  type JobId,
  logEvents,
  migrate,
  momentMs,
  readConfig,
  SETTINGS,
  systemRandom,
  toMoment,
  type Uuid,
  unknownSettings,
  type WorkspaceId,
} from "#kernel";
export { findQueue } from "#queues";
export { Calendars, listSchedules, type Schedule, type ScheduleId } from "#schedules";
export { countByKeyAcrossWorkspaces, findVaultKey, Keyring, type Rotation, rotateMasterKey } from "#secrets";
export {
  createKey,
  createRegistrar,
  createWorkspace,
  deleteWorkspace,
  findWorkspace,
  listAcrossWorkspaces,
  listKeys,
  OPERATOR,
  patchWorkspace,
  type Registrar,
  readKeyId,
  readWorkspaceId,
  revokeKey,
  showKey,
  showWorkspace,
} from "#workspaces";
export { type OpenDatabases, openDatabases } from "./databases.ts";

export const VERSION: string = (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string })
  .version;

/** Deletes, with a workspace, its queues and schedules and all that opens its secrets; what else it had is swept after it. */
export async function emptyWorkspace(tx: Db, workspaceId: WorkspaceId): Promise<void> {
  await markQueuesDeleted(tx, workspaceId);
  await removeSchedules(tx, workspaceId);
  await removeSecrets(tx, workspaceId);
}

/** A running node. */
export interface Node {
  readonly url: string;
  readonly internalUrl: string;
  /** The first workspace's key when this start made it, else null. */
  readonly firstKey: string | null;
  /** Finishes what is under way, gives back the rest, and closes. */
  stop(): Promise<void>;
  /** Looks for work now instead of at the next poll. */
  wake(): void;
}

/** How long a stopping node waits for a database that is away before it leaves its claims to the others. */
const GIVE_UP_SECONDS = 5;

/** What a test gives in place of the machine's own. */
export interface NodeParts {
  readonly clock?: DatabaseClock;
  readonly random?: Random;
  readonly events?: Events;
}

/**
 * Starts a node: database, schema, lease, loops, listeners; in this order, so that what listens serves.
 *
 * @throws an error whose `code` says what is wrong: `EADDRINUSE`, `UNAVAILABLE`, or one of the embedded PostgreSQL's
 */
export async function startNode(
  config: Config,
  { clock = new DatabaseClock(), random = systemRandom, events = new Events() }: NodeParts = {},
): Promise<Node> {
  const { emit } = events;
  const metrics = createMetrics(events);
  logEvents(events, config.logLevel);
  const registrar = createRegistrar(clock, random);
  const databases = await openDatabases(config, "owner", emit);
  const { api: apiDatabase, tenants, engine } = databases;
  const opened: (() => Promise<unknown>)[] = [() => databases.close()];
  const closeAll = async () => {
    for (const close of opened.reverse()) await tolerate(close, (error) => emit("close_failed", { error }));
  };

  try {
    await migrate(databases.connection, emit);
    // Before anything finishes: what has gone to the default partition must move when its month is made.
    await tolerate(
      () => keepPartitions(engine, emit),
      (error) => emit("partitions_failed", { error }),
    );
    const vault = await openVault({ config, connection: databases.connection, db: engine, random, emit, countNodes });
    opened.push(() => vault.leave());
    const { keyring } = vault;

    const guard = createAddressGuard({ allowLoopback: config.env === "development", allowed: config.allowAddresses });
    const sender = new Sender(guard);
    opened.push(() => sender.close());
    const settler = new Settler(engine, emit);
    const broadcaster = new Broadcaster(engine, emit);
    const tellPeers = (message: Message) => {
      if (lease.peers > 0) broadcaster.tell(message);
    };
    const tellLanes = (lanes: readonly LaneKey[]) => {
      for (const { workspaceId, laneId } of lanes) tellPeers({ kind: "lane", lane: { workspaceId, laneId } });
    };

    const lease: NodeLease = new NodeLease({
      db: databases.lease,
      clock,
      random,
      emit,
      leaseSeconds: config.nodeLeaseSeconds,
      masterKeyIds: () => keyring.ids,
      onKeyMissing: (id) => void vault.seek(id),
      onLost: () => dispatcher.abortAll(),
      onHeld: () => look(),
    });
    const endpoints = new Endpoints(engine, guard);
    const secrets = new SecretAccess({ db: engine, keyring, audit: registrar.audit, ids: registrar.ids, emit });
    const dispatcher: Dispatcher = new Dispatcher({
      db: engine,
      clock,
      random,
      emit,
      lease,
      settler,
      carrier: new CallbackCarrier({ sender, endpoints, secrets, clock, version: VERSION }),
      capacity: config.callbacksInFlight,
      onWaiting: tellLanes,
      onDueAt: (ms) => comeDue.expect(ms),
    });
    const onWaiting = (lanes: LaneKey[]) => dispatcher.wake(lanes);
    const clockwork = (name: string, pass: () => Promise<unknown>) =>
      new Clockwork({ name, everyMs: config.pollEveryMs, pass }, clock, emit, random);
    const comeDue: Clockwork = clockwork("come-due", () => comeDueAcrossWorkspaces(engine, onWaiting));
    const onDueAt = (ms: number) => comeDue.expect(ms);
    const approvals: Clockwork = clockwork("approvals", () =>
      decideOverdueAcrossWorkspaces({ db: engine, audit: registrar.audit, clock, emit, onWaiting, onDueAt }),
    );
    const firing = { calendars: new Calendars(), ids: registrar.ids, audit: registrar.audit, clock, emit };
    const onFired = ({ jobs, lanes, nextMs }: Fired) => {
      emit("jobs_enqueued", { count: jobs });
      emit("schedule_jobs_made", { count: jobs });
      // Peers would race for what this node delivers as well alone.
      if (jobs > dispatcher.room()) onWaiting([...lanes]);
      else dispatcher.wakeHere(lanes);
      if (nextMs !== null) ticks.expect(nextMs);
    };
    const ticks: Clockwork = clockwork("schedules", () => tickAcrossWorkspaces({ ...firing, db: engine, onFired }));
    const arranging = new Loop(
      { name: "arrange-keys", everyMs: 5_000, pass: () => arrangeAcrossWorkspaces(engine, onWaiting) },
      emit,
      random,
    );
    const onFound = (lanes: LaneKey[]) => dispatcher.wakeHere(lanes);
    const keyUses = new KeyUses(engine, clock);
    const principals = new PrincipalFinder(apiDatabase, clock, keyUses, config.bootstrapKey);
    const onClosed = (workspaceId: WorkspaceId) => {
      principals.forget(workspaceId);
      dispatcher.abortWorkspace(workspaceId);
    };
    const loops = backgroundLoops({ config, engine, emit, keyUses, onFound, onWaiting }).map((options) => new Loop(options, emit, random));
    const look = () => {
      for (const loop of loops) loop.wake();
      comeDue.wake();
      approvals.wake();
      ticks.wake();
      arranging.wake();
    };
    const listener = new Listener({
      connection: databases.connection,
      channel: WAKE_CHANNEL,
      emit,
      onGap: look,
      onMessage: (payload) =>
        hear(payload, {
          lane: ({ lane }) => dispatcher.wakeHere([lane]),
          cancel: ({ id }) => dispatcher.abort(id),
          deleted: ({ laneId }) => dispatcher.abortLane(laneId),
          workspace: ({ workspaceId }) => principals.forget(workspaceId),
          closed: ({ workspaceId }) => onClosed(workspaceId),
          vault: () =>
            void vault.learn().then(() => {
              lease.refresh();
              return vault.settle();
            }),
          node: () => lease.refresh(),
          all: look,
        }),
    });

    let serving = false;
    const enqueuer = new Enqueuer({ db: apiDatabase, ids: registrar.ids, outlet: dispatcher, emit, mostWaiting: config.enqueueBacklog });
    const authenticator = {
      findPrincipal: (key: string) => principals.find(key),
      operatorToken: config.adminToken,
    };
    const onWorkspaceChanged = (workspaceId: WorkspaceId) => {
      principals.forget(workspaceId);
      tellPeers({ kind: "workspace", workspaceId });
    };
    const rateLimiter = new RequestRate({ db: apiDatabase, clock, emit });
    const api = createApi({ authenticator, rateLimiter, emit, random, isServing: () => serving });
    await mountPublic(api, {
      database: apiDatabase,
      tenants,
      registrar,
      audit: registrar.audit,
      vault: { keyring, random, ids: registrar.ids, audit: registrar.audit },
      guard,
      clock,
      random,
      enqueuer,
      isReady: () => serving,
      metricsOf,
      circuitOf,
      forgetCircuit,
      changeKeyLimit,
      removeSchedulesOf,
      firing,
      onFired,
      onNextRun: (ms) => ticks.expect(ms),
      lookAtRate: async ({ workspaceId, requestsPerMinute }) =>
        requestsPerMinute === null ? null : rateLimiter.peek(workspaceId, requestsPerMinute),
      onChanged: ({ workspace_id, id, arrange_behind }) => {
        onWaiting([{ workspaceId: workspace_id, laneId: id }]);
        if (arrange_behind !== null) arranging.wake();
      },
      onDeleted: ({ id }) => {
        dispatcher.abortLane(id);
        tellPeers({ kind: "deleted", laneId: id });
      },
      onCancelled: ({ id }, nodeId) => {
        dispatcher.abort(id);
        if (nodeId !== lease.id) tellPeers({ kind: "cancel", nodeId, id });
      },
      onWaiting,
      onDueAt,
      emit,
      onWorkspaceChanged,
    });
    const internal = createApi({ authenticator, emit, random });
    mountInternal(internal, metrics, {
      database: apiDatabase,
      registrar,
      onWorkspaceChanged,
      onDeleteWorkspace: emptyWorkspace,
      onWorkspaceDeleted: (workspaceId) => {
        onClosed(workspaceId);
        tellPeers({ kind: "closed", workspaceId });
      },
    });

    const url = await listen(api, config.host, config.port);
    opened.push(() => closeAtOnce(api));
    const internalUrl = await listen(internal, config.internalHost, config.internalPort);
    opened.push(() => closeAtOnce(internal));

    // Not before the ports are ours: its key is shown once, and a start that fails on them would never show it.
    const first = await createFirstWorkspace(apiDatabase, registrar, { name: "Default", plan: config.defaultPlan }, config.bootstrapKey);
    if (config.bootstrapKey !== null && !(await principals.knows(config.bootstrapKey))) emit("bootstrap_key_refused");
    await lease.start();
    await vault.leave();
    if (lease.peers > 0) broadcaster.tell({ kind: "node" });
    for (const loop of loops) loop.start();
    comeDue.start();
    approvals.start();
    ticks.start();
    arranging.start();
    await listener.start();
    serving = true;
    emit("node_started", { nodeId: lease.id, url, version: VERSION });

    const stop = async () => {
      serving = false;
      emit("node_draining", { inFlight: dispatcher.inFlight });
      dispatcher.stopClaiming();
      const deadlineMs = clock.elapsedMs() + config.drainSeconds * 1000;
      // Requests first: what they store may have gone straight through.
      await Promise.race([closeGently(api), after(config.drainSeconds)]);
      await dispatcher.landed(Math.max(0, (deadlineMs - clock.elapsedMs()) / 1000));
      dispatcher.abortAll();
      await dispatcher.landed(GIVE_UP_SECONDS);
      await Promise.race([settler.settled(), after(GIVE_UP_SECONDS).then(() => settler.giveUp())]);
      await Promise.all([
        ...loops.map((loop) => loop.stop()),
        comeDue.stop(),
        approvals.stop(),
        ticks.stop(),
        arranging.stop(),
        lease.stop(),
        listener.stop(),
        tolerate(
          () => keyUses.flush(),
          (error) => emit("key_uses_lost", { error }),
        ),
      ]);
      await tolerate(
        async () => {
          if (lease.id !== null) await giveBackAll(engine, emit, lease.id, onWaiting);
          await lease.release();
          // Last, for all that was given back until now waits for somebody else.
          await broadcaster.flush();
        },
        (error) => emit("give_back_failed", { error }),
      );
      await closeAll();
      emit("node_stopped");
    };
    let stopped: Promise<void> | undefined;
    return { url, internalUrl, firstKey: first?.key ?? null, stop: () => (stopped ??= stop()), wake: look };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

const after = (seconds: number) => new Promise<void>((resolve) => setTimeout(resolve, seconds * 1000).unref());
