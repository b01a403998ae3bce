import type { Registry } from "prom-client";
import { createApprovals } from "#approvals";
import { createAudit } from "#audit";
import { createCallbacks } from "#callbacks";
import { createDashboard } from "#dashboard";
import { createDeadLetters } from "#dead-letters";
import { createEngine, type Engine } from "#engine";
import { createExplain } from "#explain";
import { createJobs } from "#jobs";
import { Changes, type Config, type DatabaseClock, DuePoll, type EmitEvent, type Random, rows, Services, type Shares, sql } from "#kernel";
import { createLive } from "#live";
import { createMetrics, observeService, readServiceTotalsAcrossWorkspaces } from "#metrics";
import { createOperations } from "#operations";
import { createAddressGuard, createNames, HostsInUse } from "#outbound";
import { createPeople } from "#people";
import { createPushes } from "#pushes";
import { createQueues } from "#queues";
import { createRetention } from "#retention";
import { createSchedules } from "#schedules";
import { createStatus } from "#status";
import { createUsage } from "#usage";
import { createVault, type OpenVault } from "#vault";
import { createWebhookSender, createWebhooks } from "#webhooks";
import { createWorkers } from "#workers";
import { callKind, createWorkflows, hookKind, runKind, startScheduledRuns, undoKind } from "#workflows";
import { createAdminContext, createWorkspaces } from "#workspaces";
import type { OpenDatabases } from "./databases.ts";
import { emptyWorkspace } from "./empty-workspace.ts";
import { createListeners, type Listeners } from "./listeners.ts";
import { VERSION } from "./version.ts";
import { wireChanges } from "./wire-changes.ts";

/** What a node is composed of: its configuration, its databases, its keys, and the sources of time and chance. */
interface NodeParts {
  readonly config: Config;
  readonly shares: Shares;
  readonly databases: OpenDatabases;
  readonly openVault: OpenVault;
  readonly clock: DatabaseClock;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly metrics: Registry;
}

/** A composed node, which runs while its services do. */
interface ComposedNode {
  readonly services: Services;
  readonly lease: Engine["lease"];
  readonly listeners: Listeners;
  firstKey(): string | null;
  setupUrl(): string | null;
}

/**
 * Composes a node from its modules. Its services start in the order of the list below, and stop in the opposite order: requests first, then
 * attempts, loops, and the lease, which releases what is still claimed.
 */
export async function composeNode({
  config,
  shares,
  databases,
  openVault,
  clock,
  random,
  emit,
  metrics,
}: NodeParts): Promise<ComposedNode> {
  const { keyring } = openVault;
  const adminContext = createAdminContext(clock, random);
  const { api, writes, tenants, housekeeping, recounts, engine: engineDatabase, lockWaits } = databases;
  const { audit, ids } = adminContext;
  const changes = new Changes();
  const { report } = changes;
  const shared = {
    config,
    shares,
    api,
    writes,
    tenants,
    housekeeping,
    engine: engineDatabase,
    lockWaits,
    clock,
    random,
    emit,
    report,
    audit,
    ids,
  };
  const hosts = new HostsInUse();
  const guard = createAddressGuard({ allowLoopback: config.env === "development", allowed: config.allowAddresses }, hosts.lookup);
  const names = createNames({ config, guard, share: shares.lookups, clock });

  const vault = createVault({ ...shared, keyring });
  // Known once the ports are open.
  const ownPorts = () => listeners.ownPorts();
  const nodeUrl = () => listeners.url();
  const outgoing = { ...shared, guard, names, hosts, ownPorts, secrets: vault.secrets, version: VERSION };
  const callbacks = createCallbacks(outgoing);
  const pushes = createPushes(outgoing);
  const webhookSender = createWebhookSender(outgoing);

  const wired = wireChanges(openVault, () => ({ engine, live, services, workers, workflows, workspaces }));
  const engine = createEngine({
    ...shared,
    ...wired.ofEngine,
    version: VERSION,
    nodeUrl,
    databases,
    kinds: [
      callbacks.kind,
      callKind(callbacks.calls),
      runKind(ids, pushes.runs, () => engine.waker),
      undoKind(pushes.runs),
      hookKind(audit, pushes.hooks, clock),
      webhookSender.kind,
    ],
    masterKeys: { ids: () => keyring.ids, onMissing: (id) => void openVault.findKey(id) },
  });
  const { waker, aborter, outlet } = engine;
  observeService({
    registry: metrics,
    clock,
    read: () => readServiceTotalsAcrossWorkspaces(engineDatabase),
    ping: () => rows(api, sql`select 1`),
    holdsLease: () => engine.lease.heldBy !== null,
  });

  const live = createLive({ ...shared, changes, notify: engine.notify, reply: engine.reply });
  const workers = createWorkers({ ...shared, engine, database: engineDatabase, secrets: vault.secrets });
  const workspaces = createWorkspaces({ ...shared, ...wired.ofWorkspaces, adminContext, emptyWorkspace });
  const people = createPeople({ ...shared, ...wired.ofPeople, adminContext, keyring, nodeUrl });
  const usage = createUsage(shared);
  const { rateLimiter } = usage;
  const schedules = createSchedules({ ...shared, waker, room: () => engine.room(), startRuns: startScheduledRuns });
  const workflows = createWorkflows({
    ...shared,
    guard,
    waker,
    aborter,
    verifyExecution: workers.verifyExecution,
    verifyReport: workers.verifyReport,
    waitingWorkers: workers.waitingWorkers,
    schedules,
  });

  const modules = [
    // First, because it watches the requests of the other modules.
    live,
    createQueues({ ...shared, guard, waker, aborter, onKeyLimitChanged: () => engine.reassignKeySlots() }),
    createJobs({ ...shared, recounts, waker, aborter, outlet }),
    createDeadLetters({ ...shared, waker }),
    createOperations({ ...shared, waker, aborter }),
    createExplain(shared),
    createApprovals({ ...shared, waker }),
    schedules,
    vault,
    createAudit(shared),
    workspaces,
    people,
    usage,
    createStatus({ ...shared, rateLimiter }),
    createMetrics(shared),
    createRetention({ ...shared, waker }),
    callbacks,
    pushes,
    workers,
    workflows,
    webhookSender,
    createWebhooks({ ...shared, guard, waker, aborter }),
    createDashboard(shared),
    { operatorRoutes: engine.operatorRoutes },
  ];
  const authenticator = { ...workspaces.authenticator, pages: people.pages };
  const drain = () => {
    workers.drain();
    workflows.drain();
    live.drain();
    engine.drain();
  };
  const listeners = await createListeners({ ...shared, modules, metrics, authenticator, rateLimiter, drain });
  const due = [engine, ...modules].flatMap((module) => module.due ?? []);

  const services = new Services(
    [
      listeners.ports,
      // Not before the ports are open: the key is shown once, and a start that fails to open them would never show it.
      workspaces.first,
      people.first,
      engine.lease,
      // From now on this node counts as alive, and a rotation of the master key waits for it.
      { start: () => openVault.releaseLock(), stop: async () => {} },
      modules.flatMap((module) => module.services ?? []),
      engine.loops,
      // Now that this node listens.
      { start: () => live.missed(), stop: async () => {} },
      engine.attempts,
      new DuePoll({ ...shared, db: engineDatabase, sources: due, changes: workspaces.changes, everyMs: config.pollEveryMs }),
      listeners.requests,
    ],
    (error) => emit("close_failed", { error }),
  );
  return { services, lease: engine.lease, listeners, firstKey: workspaces.firstKey, setupUrl: people.setupUrl };
}
