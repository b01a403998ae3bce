import { describe, expect } from "vitest";
import {
  cancelMany,
  claimAcrossWorkspaces,
  claimForWorkersAcrossWorkspaces,
  claimFromBacklogAcrossWorkspaces,
  completeAcrossWorkspaces,
  countAttemptsAcrossWorkspaces,
  decideSharesAcrossWorkspaces,
  discardAcrossWorkspaces,
  endExpiredClaimsAcrossWorkspaces,
  extendClaims,
  findCancelled,
  findHeld,
  findHeldAmong,
  findHeldInLane,
  findLanesWithWorkAcrossWorkspaces,
  findLogsAcrossWorkspaces,
  findNextDecisionAcrossWorkspaces,
  findOverdueAcrossWorkspaces,
  findTakenBy,
  lockJobsAcrossWorkspaces,
  lockKeysOfMany,
  makeDueAcrossWorkspaces,
  moveDueAcrossWorkspaces,
  moveLeftDue,
  purgeFailed,
  removeManyFailed,
  removeManyFinished,
  removeUnlocked,
  removeWhenUnlocked,
  restoreMany,
  retryFailed,
  retryManyFailed,
  setDueAcrossWorkspaces,
  settleNotCompletedAcrossWorkspaces,
  takeBackAcrossWorkspaces,
  withdrawTaken,
} from "#jobs";
import { type Db, type JobId, type RunId, toMoment } from "#kernel";
import { sweepDeletedLanesAcrossWorkspaces } from "#retention";
import { listPending } from "../../src/approvals/list.ts";
import { foldGroupsAcrossWorkspaces, listGroups } from "../../src/dead-letters/groups-store.ts";
import { listFailed } from "../../src/dead-letters/store.ts";
import { findExplained } from "../../src/explain/store.ts";
import { listJobs } from "../../src/jobs/list.ts";
import { findBatchesAcrossWorkspaces } from "../../src/jobs/store/batch-keys.ts";
import {
  claimKeysAcrossWorkspaces,
  findExistingAcrossWorkspaces,
  freeKeysAcrossWorkspaces,
  releaseKeysAcrossWorkspaces,
} from "../../src/jobs/store/idempotency-keys.ts";
import { sampleOldestAcrossWorkspaces } from "../../src/jobs/store/sample-oldest.ts";
import { ACTIVE_SCAN, NO_ACTIVE_SCAN, SCANS, searchJobs } from "../../src/jobs/store/search.ts";
import { sweepIdempotencyKeysAcrossWorkspaces } from "../../src/jobs/sweep-idempotency-keys.ts";
import { listWorkers } from "../../src/workers/store.ts";
import { findLiveCallsAcrossWorkspaces, findPendingCalls, storeCallOutcomesAcrossWorkspaces } from "../../src/workflows/calls/store.ts";
import { completeRunsAcrossWorkspaces } from "../../src/workflows/executions/complete-store.ts";
import { markEndedAcrossWorkspaces, recordFailuresAcrossWorkspaces } from "../../src/workflows/executions/end-store.ts";
import { beginExecutions, lockExecution } from "../../src/workflows/executions/execution-store.ts";
import { suspendAcrossWorkspaces } from "../../src/workflows/executions/suspend-store.ts";
import { recordUnfitAcrossWorkspaces } from "../../src/workflows/executions/unfit-store.ts";
import { findKeptFor } from "../../src/workflows/executions/version-store.ts";
import { findListedRun, findWaitingSteps } from "../../src/workflows/runs/explained-run.ts";
import { findAwaitingParents } from "../../src/workflows/runs/parent.ts";
import { readInputs, readJournals } from "../../src/workflows/runs/run-store.ts";
import {
  deleteSignalsAcrossWorkspaces,
  findLostSignalsAcrossWorkspaces,
  findPendingSignalsAcrossWorkspaces,
  registerSignalsAcrossWorkspaces,
} from "../../src/workflows/signals/signal-store.ts";
import { insertPlainStepsAcrossWorkspaces } from "../../src/workflows/steps/plain-step-store.ts";
import { storeProgress, storeProgressAcrossWorkspaces } from "../../src/workflows/steps/progress.ts";
import { findReportedAcrossWorkspaces, recordReportedAcrossWorkspaces } from "../../src/workflows/steps/reported-store.ts";
import { completedStep, insertStepsAcrossWorkspaces } from "../../src/workflows/steps/step-store.ts";
import { cancelWaitsAcrossWorkspaces, findStoredAcrossWorkspaces, lockRunsAcrossWorkspaces } from "../../src/workflows/steps/wait-store.ts";
import { releaseRunKeysAcrossWorkspaces } from "../../src/workflows/triggers/run-key-store.ts";
import { storeTriggersAcrossWorkspaces } from "../../src/workflows/triggers/trigger-store.ts";
import { findLeftAcrossWorkspaces, findUndosAcrossWorkspaces, recordLeftUndosAcrossWorkspaces } from "../../src/workflows/undo/store.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { PLANNED_LANE as LANE, nodesOf, plansOf, wholesale } from "../harness/plans.ts";

const SETTLED = { ...LANE, id: "00000000-0000-7000-8000-000000000002" as JobId, leaseId: 1, attempt: 1, logEntry: "{}" };
const RUN = { workspaceId: LANE.workspaceId, id: SETTLED.id as string as RunId };
const TRIGGER = {
  workflow: "w",
  input: "1",
  idempotencyKey: "k",
  dueMs: null,
  holder: { ...LANE, leaseId: 1, leaseSeconds: 30, request: "r", version: null },
};
const DEAD = { ...LANE, filter: { tag: undefined, error: undefined, failed_before: undefined, failed_after: undefined } } as never;
const CHUNK = { until: toMoment(0), before: SETTLED.id, limit: 1 };
const PAGE = { ...LANE, states: null, tags: null, before: null, limit: 51 };
const KEY = { ...LANE, queue: "emails", key: "k", jobId: SETTLED.id, fingerprint: "00" };

const NOTHING = {
  states: null,
  tags: null,
  keys: null,
  errors: null,
  fingerprint: null,
  ids: null,
  createdAfter: null,
  createdBefore: null,
  contains: null,
};
const ANY = { ...NOTHING, workspaceId: LANE.workspaceId, laneIds: null, until: null };
const PART = { since: SETTLED.id, before: SETTLED.id, limit: 51, scanned: 5_000, maxBytes: 1 };
const WANTED = [{ laneId: LANE.laneId, tag: "a", id: SETTLED.id }];

const MANY = { workspaceId: LANE.workspaceId, jobs: [SETTLED], states: ["failed"] as const, until: toMoment(0) };

/** A search of each kind. */
const SEARCHES = Object.fromEntries(
  Object.entries(SCANS).map(([name, { live, ...scans }]) => [
    `search jobs by ${name}`,
    (db: Db) => {
      const finished = "finished" in scans ? scans.finished : SCANS.none.finished;
      const active = name === "newest" || name === "one" || name === "none" ? ACTIVE_SCAN : NO_ACTIVE_SCAN;
      return searchJobs(db, { live, active, finished, wanted: WANTED }, ANY, PART);
    },
  ]),
);

/** Statements that change or read many jobs at once. */
const STATEMENTS: Record<string, (db: Db) => Promise<unknown>> = {
  ...SEARCHES,
  claim: (db) => claimAcrossWorkspaces(db, { leaseId: 1, served: "push" }, [{ ...LANE, take: 1 }]),
  "claim for workers": (db) =>
    claimForWorkersAcrossWorkspaces(db, 1, [{ ...LANE, take: 1, leaseId: 1, leaseSeconds: 30, request: null, version: null }], false),
  "claim from a backlog": (db) =>
    claimFromBacklogAcrossWorkspaces(db, 1, [{ ...LANE, take: 1, leaseId: 1, leaseSeconds: 30, request: null, version: null }]),
  "claim runs of a version": (db) =>
    claimForWorkersAcrossWorkspaces(db, 1, [{ ...LANE, take: 1, leaseId: 1, leaseSeconds: 30, request: null, version: "v1" }], false, {
      version: "v1",
      others: ["v2"],
      isNewest: true,
    }),
  "begin executions": (db) =>
    beginExecutions(
      { query: db.query, transaction: (run) => run(db) },
      LANE.workspaceId,
      [{ ...LANE, id: RUN.id, execution: 1, leaseId: 1 }],
      null,
    ),
  "cancel waits": (db) => cancelWaitsAcrossWorkspaces(db, [{ ...RUN, key: "a" }]),
  "record undos that are left": (db) => recordLeftUndosAcrossWorkspaces(db, [{ ...RUN, error: "{}" }]),
  "find a run's version": (db) => findKeptFor(db, { ...LANE, id: SETTLED.id as never }),
  "make runs due": (db) => makeDueAcrossWorkspaces(db, [{ ...LANE, id: SETTLED.id, version: "v1" }]),
  "record unfit runs": (db) =>
    recordUnfitAcrossWorkspaces(db, [{ ...LANE, id: SETTLED.id as never, step: "load", reason: "", version: "v1", execution: 1 }]),
  "find held claims": (db) => findHeld(db, LANE.workspaceId, [SETTLED]),
  "find held jobs among some": (db) => findHeldAmong(db, LANE.workspaceId, 1, [SETTLED.id]),
  "find held jobs of a lane": (db) => findHeldInLane(db, LANE, [1]),
  "find jobs of a call": (db) => findTakenBy(db, LANE.workspaceId, 1, "r1"),
  "withdraw what a call took": (db) => withdrawTaken(db, LANE.workspaceId, [{ ...SETTLED, request: "r1" }]),
  "find logs of claims": (db) => findLogsAcrossWorkspaces(db, [SETTLED]),
  "find cancelled claims": (db) => findCancelled(db, LANE.workspaceId, [SETTLED]),
  "end expired claims": (db) =>
    endExpiredClaimsAcrossWorkspaces(db, {
      kinds: ["queue"],
      maxLosses: 3,
      plainKinds: ["queue"],
      onceKinds: [],
      settling: [],
      withoutWorkspaces: [],
      limit: 1,
    }),
  "extend claims": (db) => extendClaims(db, LANE.workspaceId, [SETTLED], 30),
  "remove jobs that are not locked": (db) => removeUnlocked(db, LANE, [SETTLED.id]),
  "remove jobs that were locked": (db) => removeWhenUnlocked(db, LANE, [SETTLED.id]),
  "find calls of a run": (db) => findPendingCalls(db, { workspaceId: LANE.workspaceId, id: SETTLED.id as never }),
  "store outcomes of calls": (db) => storeCallOutcomesAcrossWorkspaces(db, [{ ...SETTLED, output: null, error: null, attempt: 1 }]),
  "list workers": (db) => listWorkers(db, LANE.workspaceId, null, 51),
  "find batches": (db) => findBatchesAcrossWorkspaces(db, [{ ...LANE, key: "k" }]),
  "lock jobs": (db) => lockJobsAcrossWorkspaces(db, [SETTLED]),
  discard: (db) => discardAcrossWorkspaces(db, [SETTLED]),
  "count attempts": (db) => countAttemptsAcrossWorkspaces(db, [{ ...SETTLED, waitMs: 1 }]),
  "set due": (db) => setDueAcrossWorkspaces(db, [{ ...SETTLED, at: null }]),
  complete: (db) => completeAcrossWorkspaces(db, [{ ...SETTLED, result: null }]),
  refuse: (db) =>
    settleNotCompletedAcrossWorkspaces(db, [
      { ...SETTLED, to: "delayed", waitMs: 1, aloneWaitMs: null, error: null, errorCode: null, recorded: true, spared: null },
    ]),
  "take back": (db) =>
    takeBackAcrossWorkspaces(db, {
      leaseId: 1,
      outcome: "lost",
      error: null,
      maxLosses: 3,
      plainKinds: ["queue"],
      onceKinds: [],
      lane: null,
      limit: 1,
    }),
  "take back from a lane": (db) =>
    takeBackAcrossWorkspaces(db, {
      leaseId: 1,
      outcome: "lost",
      error: null,
      maxLosses: 3,
      plainKinds: ["queue"],
      onceKinds: [],
      lane: LANE,
      limit: 1,
    }),
  "decide by timeout": (db) => decideSharesAcrossWorkspaces(db, [LANE.workspaceId], { maxJobs: 1, maxWeight: 1, bytesPerWeight: 1 }),
  "look for what timed out": (db) => findOverdueAcrossWorkspaces(db),
  "look for what times out next": (db) => findNextDecisionAcrossWorkspaces(db),
  "scan for work": (db) => findLanesWithWorkAcrossWorkspaces(db),
  "come due": (db) => moveDueAcrossWorkspaces(db, 1),
  "come due after a wait": (db) => moveLeftDue(db, { ...LANE, ids: [SETTLED.id] }),
  "list jobs": (db) => listJobs(db, PAGE),
  "list jobs by tags": (db) => listJobs(db, { ...PAGE, tags: ["a"] }),
  "list jobs by state": (db) => listJobs(db, { ...PAGE, states: ["failed"] }),
  "list dead letters": (db) => listFailed(db, { ...PAGE, queues: null, errors: null }),
  "list dead letters of a group": (db) => listFailed(db, { ...PAGE, queues: null, errors: null, fingerprint: "0" }),
  "list groups of dead letters": (db) => listGroups(db, { workspaceId: LANE.workspaceId, after: null, limit: 51 }),
  "fold groups of dead letters": (db) => foldGroupsAcrossWorkspaces(db),
  "cancel many": (db) => cancelMany(db, MANY, false),
  "lock keys of many": (db) => lockKeysOfMany(db, MANY),
  "retry many": (db) => retryManyFailed(db, MANY),
  "restore many": (db) => restoreMany(db, MANY),
  "remove many that failed": (db) => removeManyFailed(db, MANY),
  "remove many that finished": (db) => removeManyFinished(db, MANY),
  "list pending approvals": (db) => listPending(db, { ...PAGE, queues: null }),
  "retry dead letters": (db) => retryFailed(db, DEAD, CHUNK),
  "purge dead letters": (db) => purgeFailed(db, DEAD, CHUNK),
  "claim keys": (db) => claimKeysAcrossWorkspaces(db, [KEY], [KEY]),
  "find the jobs of keys": (db) => findExistingAcrossWorkspaces(db, [KEY]),
  "release keys": (db) => releaseKeysAcrossWorkspaces(db, [KEY]),
  "free keys": (db) => freeKeysAcrossWorkspaces(db, [KEY]),
  "sweep keys": (db) => sweepIdempotencyKeysAcrossWorkspaces(db),
  explain: (db) => findExplained(db, SETTLED),
  "find a run to explain": (db) => findListedRun(db, { ...LANE, id: SETTLED.id as never }),
  "find the steps that a run waits for": (db) => findWaitingSteps(db, { ...LANE, id: SETTLED.id as never }),
  "sweep a queue": (db) => sweepDeletedLanesAcrossWorkspaces({ query: db.query, transaction: (run) => run(db) }, () => {}),
};

/** Statements on many runs, which a plan serves also if it was made while there were no runs. */
const STATEMENTS_OF_RUNS: Record<string, (db: Db) => Promise<unknown>> = {
  "lock runs": (db) => lockRunsAcrossWorkspaces(db, [RUN]),
  "find stored steps": (db) => findStoredAcrossWorkspaces(db, [{ ...RUN, key: "a" }]),
  "store steps": (db) =>
    insertStepsAcrossWorkspaces(db, [{ ...RUN, claim: { ...SETTLED, run: RUN.id } as never, steps: [completedStep("a", "run", "1")] }]),
  "store plain steps": (db) =>
    insertPlainStepsAcrossWorkspaces(db, [
      { ...RUN, claim: { ...SETTLED, run: RUN.id } as never, steps: [completedStep("a", "run", "1"), completedStep("b", "run", "1")] },
    ]),
  "store one plain step": (db) =>
    insertPlainStepsAcrossWorkspaces(db, [
      { ...RUN, claim: { ...SETTLED, run: RUN.id } as never, steps: [completedStep("a", "run", "1")] },
    ]),
  "store a trigger": (db) => storeTriggersAcrossWorkspaces(db, 1, [{ ...RUN, ...TRIGGER }]),
  "store triggers": (db) =>
    storeTriggersAcrossWorkspaces(
      db,
      1,
      [RUN, RUN].map((run) => ({ ...run, ...TRIGGER })),
    ),
  "store steps of locked jobs": (db) => insertStepsAcrossWorkspaces(db, [{ ...RUN, claim: null, steps: [completedStep("a", "run", "1")] }]),
  "suspend runs": (db) => suspendAcrossWorkspaces(db, [{ ...RUN, execution: 1 }]),
  "complete a run": (db) =>
    completeRunsAcrossWorkspaces(db, [{ ...RUN, claim: SETTLED as never, result: "1", steps: [completedStep("a", "run", "1")] }]),
  "complete runs": (db) => completeRunsAcrossWorkspaces(db, [{ ...RUN, claim: SETTLED as never, result: "1", steps: [] }]),
  "end runs": (db) => markEndedAcrossWorkspaces(db, [{ ...RUN, status: "completed", result: "1", executions: 1 }]),
  "record failures of runs": (db) =>
    recordFailuresAcrossWorkspaces(db, [{ ...RUN, laneId: LANE.laneId, error: "{}", usesAttempt: true, reported: 1 }]),
  "lock an execution": (db) => lockExecution(db, RUN, SETTLED as never),
  "find reported executions": (db) => findReportedAcrossWorkspaces(db, [SETTLED]),
  "record reported executions": (db) => recordReportedAcrossWorkspaces(db, [{ ...RUN, execution: 1 }]),
  "find undos": (db) => findUndosAcrossWorkspaces(db, [RUN]),
  "find undos that are left": (db) => findLeftAcrossWorkspaces(db, [RUN]),
  "find awaiting parents": (db) => findAwaitingParents(db, [RUN]),
  "store progress": (db) => storeProgressAcrossWorkspaces(db, [{ ...RUN, progress: "1" }]),
  "store progress of a claim": (db) => storeProgress(db, RUN, { ...SETTLED } as never, "1"),
  "register signals": (db) => registerSignalsAcrossWorkspaces(db, [{ ...RUN, signal: "s" }], true),
  "find lost signals": (db) => findLostSignalsAcrossWorkspaces(db, [{ ...RUN, key: "k" }]),
  "delete signals": (db) => deleteSignalsAcrossWorkspaces(db, [{ ...RUN, signal: "s" }]),
  "find pending signals": (db) => findPendingSignalsAcrossWorkspaces(db, [RUN]),
  "find live calls": (db) => findLiveCallsAcrossWorkspaces(db, [SETTLED]),
  "read journals": (db) => readJournals(db, LANE.workspaceId, [RUN.id]),
  "read inputs": (db) => readInputs(db, LANE.workspaceId, [RUN.id]),
  "release keys of runs": (db) => releaseRunKeysAcrossWorkspaces(db, [{ ...LANE, key: "k", runId: RUN.id }]),
};

describe("a plan that is made and kept while there are no jobs does not read all of them once there are", () => {
  test.for(Object.entries(STATEMENTS))(
    "a plan that is made and kept while there are no jobs does not read all of them once there are %s",
    async ([, ask], { database }) => {
      const plans = await plansOf(database, ask);
      expect(plans.flatMap(wholesale)).toEqual([]);
      expect(plans.length).toBeGreaterThan(0);
    },
  );
});

describe("a plan that is made and kept while there are no runs does not read all of them once there are", () => {
  test.for(Object.entries(STATEMENTS_OF_RUNS))(
    "a plan that is made and kept while there are no runs does not read all of them once there are %s",
    async ([, ask], { database }) => {
      const plans = await plansOf(database, ask, { of: "runs" });
      expect(plans.flatMap(wholesale)).toEqual([]);
      expect(plans.length).toBeGreaterThan(0);
    },
  );
});

describe("on a connection of a workspace, whose rows are taken to be few, a plan does not read all of them", () => {
  const ofRequests = [
    "begin executions",
    "cancel waits",
    "make runs due",
    "set due",
    "remove jobs that are not locked",
    "remove jobs that were locked",
    "find calls of a run",
    "extend claims",
    "find held claims",
    "find held jobs among some",
    "find jobs of a call",
    "withdraw what a call took",
    "find logs of claims",
    "lock jobs",
  ].map((name) => [name, STATEMENTS[name] as (db: Db) => Promise<unknown>] as const);
  const onlyOfNodes = [
    "store plain steps",
    "complete runs",
    "suspend runs",
    "record failures of runs",
    "find undos that are left",
    "store progress",
    "find live calls",
  ];
  const ofWorkspaces = [...Object.entries(STATEMENTS_OF_RUNS), ...ofRequests];
  test.for(ofWorkspaces.filter(([name]) => !onlyOfNodes.includes(name)))(
    "on a connection of a workspace, whose rows are taken to be few, a plan does not read all of them: %s",
    async ([, ask], { database }) => {
      const plans = await plansOf(database, ask, { of: "runs", schemas: "tidemill_tenant,tidemill" });
      expect(plans.flatMap(wholesale)).toEqual([]);
      expect(plans.length).toBeGreaterThan(0);
    },
  );
});

// "register signals" names the lane of a run, too.
test.for(Object.entries(STATEMENTS_OF_RUNS).filter(([name]) => name !== "register signals"))(
  "a plan that is made while there are no runs looks a run up by its primary key, and not in each status and lane: %s",
  async ([, ask], { database }) => {
    const plans = await plansOf(database, ask, { of: "runs" });
    const found = plans.flatMap(nodesOf).filter((node) => node["Relation Name"] === "run" && node["Index Name"] !== undefined);
    expect(found.map((node) => node["Index Name"])).toEqual(found.map(() => "run_pkey"));
  },
);

test.for(["claim", "explain"])("%s looks its lane up by its id, and not among all those of the workspace", async (name, { database }) => {
  const plans = await plansOf(database, STATEMENTS[name] as (db: Db) => Promise<unknown>);
  const found = plans.flatMap(nodesOf).filter((node) => node["Relation Name"] === "lane");
  expect(found.length).toBeGreaterThan(0);
  for (const node of found) expect(node["Index Cond"]).toMatch(/\bid = /);
});

test("store steps: looks the run's job up by its id, and not among all those that are held", async ({ database }) => {
  const plans = await plansOf(database, STATEMENTS_OF_RUNS["store steps"] as (db: Db) => Promise<unknown>, { of: "runs" });
  const found = plans.flatMap(nodesOf).filter((node) => node["Relation Name"] === "job");
  expect(found.map((node) => node["Index Name"])).toEqual(["job_pkey"]);
});

test("a sample of the longest waiting jobs does not read the lanes before its position", async ({ database }) => {
  const plans = await plansOf(database, (db) => sampleOldestAcrossWorkspaces(db, LANE, 500), { of: "records" });
  const found = plans.flatMap(nodesOf).filter((node) => node["Relation Name"] === "job_count");
  expect(found.map((node) => node["Index Name"])).toEqual(["job_count_pkey"]);
  expect(found[0]?.["Index Cond"]).toMatch(/^\(ROW\(.*\) > ROW\(/);
});

test("a sample of the longest waiting jobs looks its lanes up by their ids, and not among all those of the workspace", async ({
  database,
}) => {
  const plans = await plansOf(database, (db) => sampleOldestAcrossWorkspaces(db, LANE, 500), { of: "jobs" });
  const found = plans.flatMap(nodesOf).filter((node) => node["Relation Name"] === "lane");
  expect(found.map((node) => node["Index Name"])).toEqual(["lane_pkey"]);
  expect(found[0]?.["Index Cond"]).toMatch(/\bid = /);
});

test("a batch of due jobs finds those of each workspace by the index of workspaces, and not among all that are due", async ({
  database,
}) => {
  await putJobs(database, await putLane(database), { state: "delayed", count: 1_000 });
  const plans = await plansOf(database, (db) => moveDueAcrossWorkspaces(db, 1));
  const found = plans.flatMap(nodesOf).filter((node) => node["Relation Name"] === "job" && node["Index Name"] !== undefined);
  expect(found.map((node) => node["Index Name"])).toContain("job_due_share");
  expect(found.filter((node) => /workspace_id = /.test(node.Filter ?? ""))).toEqual([]);
});
