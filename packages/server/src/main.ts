import { createApprovals } from "#approvals";
import { createAudit } from "#audit";
import { createCallbacks } from "#callbacks";
import { createDeadLetters } from "#dead-letters";
import { countNodes, createEngine } from "#engine";
import { createExplain } from "#explain";
import { createJobs } from "#jobs";
import {
  type Config,
  createMetrics,
  DatabaseClock,
  DuePoll,
  Events,
  logEvents,
  migrate,
  type Random,
  Services,
  systemRandom,
  tolerate,
} from "#kernel";
import { createAddressGuard } from "#outbound";
import { createQueues } from "#queues";
import { createRetention, maintainPartitions } from "#retention";
import { createSchedules } from "#schedules";
import { createStatus } from "#status";
import { createUsage } from "#usage";
import { createVault, openVault } from "#vault";
import { createRegistrar, createWorkspaces } from "#workspaces";
import { openDatabases } from "./databases.ts";
import { emptyWorkspace } from "./empty-workspace.ts";
import { createListeners } from "./listeners.ts";
import { VERSION } from "./version.ts";

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

/** What a test gives instead of the machine's own. */
export interface NodeParts {
  readonly clock?: DatabaseClock;
  readonly random?: Random;
  readonly events?: Events;
}

/**
 * Starts a node: database, schema, vault, listeners, lease, loops; in this order, so that what listens serves.
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
  const { audit, ids } = registrar;
  const databases = await openDatabases(config, "owner", emit);
  const { api, tenants, engine: engineDb } = databases;
  const onStopFailed = (error: unknown) => emit("close_failed", { error });
  const closed: Services = new Services([{ start: () => {}, stop: () => databases.close() }], onStopFailed);
  await closed.start();
  try {
    await migrate(databases.connection, emit);
    // Before any job finishes: what went to the default partition must move when its month is made.
    await tolerate(
      () => maintainPartitions(engineDb, emit),
      (error) => emit("partitions_failed", { error }),
    );
    const opened = await openVault({ config, connection: databases.connection, db: engineDb, random, emit, countNodes });
    const { keyring } = opened;

    const look = () => services.wake();
    const guard = createAddressGuard({ allowLoopback: config.env === "development", allowed: config.allowAddresses });
    const shared = { config, api, tenants, engine: engineDb, clock, random, emit, audit, ids };
    const vault = createVault({ ...shared, keyring });
    const callbacks = createCallbacks({ ...shared, guard, secrets: vault.secrets, version: VERSION });
    const engine = createEngine({
      ...shared,
      databases,
      kinds: [callbacks.kind],
      masterKeys: { ids: () => keyring.ids, onMissing: (id) => void opened.findKey(id) },
      handlers: {
        workspace: ({ workspaceId }) => workspaces.forget(workspaceId),
        closed: ({ workspaceId }) => workspaces.forget(workspaceId),
        vault: () =>
          void opened.reloadKeys().then(() => {
            engine.lease.refresh();
            return opened.finishRotation();
          }),
      },
      look,
    });
    const { waker, aborter, outlet } = engine;
    const workspaces = createWorkspaces({
      ...shared,
      registrar,
      emptyWorkspace,
      notifyChanged: (workspaceId) => engine.notify({ kind: "workspace", workspaceId }),
      abortWorkspace: (workspaceId) => aborter.abortWorkspace(workspaceId),
    });
    const usage = createUsage(shared);
    const modules = [
      createQueues({ ...shared, guard, waker, aborter, onKeyLimitChanged: () => engine.reassignKeySlots() }),
      createJobs({ ...shared, waker, aborter, outlet }),
      createDeadLetters({ ...shared, waker }),
      createExplain(shared),
      createApprovals({ ...shared, waker }),
      createSchedules({ ...shared, waker, room: () => engine.room() }),
      vault,
      createAudit(shared),
      workspaces,
      usage,
      createStatus({ ...shared, rateLimiter: usage.rateLimiter }),
      createRetention(shared),
      callbacks,
    ];
    const due = [engine, ...modules].flatMap((module) => module.due ?? []);
    const listeners = await createListeners({
      ...shared,
      modules,
      metrics,
      authenticator: workspaces.authenticator,
      rateLimiter: usage.rateLimiter,
      drain: () => engine.drain(),
    });
    const services: Services = new Services(
      [
        { start: () => {}, stop: () => opened.releaseLock() },
        listeners.ports,
        // Not before the ports are ours: its key is shown once, and a start that fails on them would never show it.
        workspaces.first,
        engine.lease,
        ...modules.flatMap((module) => module.services ?? []),
        ...engine.services,
        { start: () => opened.releaseLock(), stop: async () => {} },
        new DuePoll(engineDb, due, config.pollEveryMs, emit, random),
        listeners.requests,
      ],
      onStopFailed,
    );
    await services.start();
    emit("node_started", { leaseId: engine.lease.id, url: listeners.url(), version: VERSION });

    const stop = async () => {
      await services.stop();
      await closed.stop();
      emit("node_stopped", {});
    };
    let stopped: Promise<void> | undefined;
    return {
      url: listeners.url(),
      internalUrl: listeners.internalUrl(),
      firstKey: workspaces.firstKey(),
      stop: () => (stopped ??= stop()),
      wake: look,
    };
  } catch (error) {
    await closed.stop();
    throw error;
  }
}
