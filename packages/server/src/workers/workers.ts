import type { Engine } from "#engine";
import type { Module } from "#http";
import type { Clock, Database, EmitEvent, Random, Shares, Tenants, Uuid, WorkspaceId } from "#kernel";
import { PeriodicLoop } from "#kernel";
import type { LaneKey } from "#lanes";
import type { SecretAccess } from "#vault";
import type { VerifyExecution, VerifyReport, WaitingWorkers } from "#workflows";
import { CodeVersions } from "./code-versions.ts";
import { endLane } from "./end-lane.ts";
import { ExecutionTokens } from "./execution-tokens.ts";
import { waitingWorkers } from "./hand-over.ts";
import { HeldJobs } from "./held-jobs.ts";
import { KnownWorkers } from "./known-workers.ts";
import { Polls } from "./polls.ts";
import { redactorOf } from "./redactor-of.ts";
import { releaseJobs } from "./release-jobs.ts";
import { mountWork } from "./routes.ts";
import { verifyExecution, verifyReport } from "./verify-report.ts";
import type { WorkDeps } from "./work.ts";

/** How often to write when workers last called. Milliseconds. */
const WRITE_CALLS_EVERY_MS = 30_000;

export interface WorkersOptions {
  readonly engine: Pick<Engine, "claimForWorkers" | "claimFromBacklog" | "finishForWorker" | "waker" | "lease">;
  readonly database: Database;
  readonly tenants: Tenants;
  readonly secrets: SecretAccess;
  readonly shares: Pick<Shares, "loopTime" | "requestMemory" | "workers">;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: EmitEvent;
}

/** Workers: they take jobs of queues without `callback_url` over HTTP, and settle them. */
export interface Workers extends Module {
  /** Jobs of these lanes may be claimable. */
  woken(lanes: readonly LaneKey[]): void;
  wokenAll(): void;
  /** A job or run was cancelled while this lease held it. `id` is as the API shows it. */
  cancelled(leaseId: number, id: string): void;
  laneDeleted(lane: LaneKey): void;
  /** Whether the latest claim from a lane has found limits. */
  isLimited(lane: LaneKey): boolean;
  /** A key of the workspace was revoked, or something else about it changed: its calls that wait end. */
  workspaceChanged(workspaceId: WorkspaceId, keyId: Uuid | null): void;
  /** Ends all calls that wait. */
  endCalls(): void;
  /** Checks that a token proves the execution of a run. */
  readonly verifyExecution: VerifyExecution;
  /** The same for a report of steps. */
  readonly verifyReport: VerifyReport;
  readonly waitingWorkers: WaitingWorkers;
  /** Ends the requests that wait for jobs. */
  drain(): void;
}

export function createWorkers({ engine, database, tenants, secrets, shares, clock, random, emit }: WorkersOptions): Workers {
  const { loopTime, requestMemory: memory } = shares;
  const held = new HeldJobs();
  const workers = new KnownWorkers(database, emit, shares.workers);
  const tokens = new ExecutionTokens(database);
  const give = { finish: engine.finishForWorker, held, tenants, emit, secrets, loopTime, memory };
  const versions = new CodeVersions({ database, clock, emit, onReleased: (lane) => engine.waker.wakePulled([lane]) });
  const polls = new Polls({
    claim: engine.claimForWorkers,
    claimFromBacklog: engine.claimFromBacklog,
    filterOf: (lane) => versions.filterOf(lane),
    release: (worker, claims) => void releaseJobs(give, worker, claims),
    memory,
    emit,
    clock,
  });
  const deps: WorkDeps = { ...give, clock, polls, versions, workers, redactorOf: redactorOf({ secrets, loopTime }) };
  const writeCalls = new PeriodicLoop(
    { name: "write-worker-calls", everyMs: WRITE_CALLS_EVERY_MS, pass: () => workers.writeCalls() },
    emit,
    random,
  );
  const writeVersions = new PeriodicLoop(
    { name: "write-code-versions", everyMs: WRITE_CALLS_EVERY_MS, pass: () => versions.write() },
    emit,
    random,
  );
  return {
    routes: (api) => mountWork(api, deps),
    services: [writeCalls, writeVersions],
    woken: (lanes) => polls.wake(lanes),
    wokenAll: () => polls.wakeAll(),
    cancelled: (leaseId, id) => workers.cancelled(leaseId, id),
    laneDeleted: (lane) => void endLane({ db: database, held, workers, polls, emit }, lane),
    isLimited: ({ laneId }) => polls.lanes.byId(laneId).some(({ limited }) => limited),
    workspaceChanged: (workspaceId, keyId) => polls.endOf(workspaceId, keyId),
    endCalls: () => polls.endAll(),
    verifyExecution: verifyExecution({ workers, tokens, held }),
    verifyReport: verifyReport({ ...deps, tokens }),
    waitingWorkers: waitingWorkers(polls, () => engine.lease.heldBy),
    drain: () => polls.close(),
  };
}
