import { JOB_STATES, type JobState } from "@tidemill/contract";
import { describe, expect } from "vitest";
import {
  approveJob,
  claimAcrossWorkspaces,
  completeAcrossWorkspaces,
  decideSharesAcrossWorkspaces,
  JOB_MOVES,
  type JobActor,
  type JobKey,
  moveDueAcrossWorkspaces,
  rejectJob,
  retryJob,
  settleNotCompletedAcrossWorkspaces,
  takeBackAcrossWorkspaces,
} from "#jobs";
import { type Database, type JobId, ProblemError, sql } from "#kernel";
import type { LaneKey } from "#lanes";
import { cancelJob, removeJob, restoreJob } from "../../src/jobs/store/jobs.ts";
import { auditLog } from "../harness/audit.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, putNode, test } from "../harness/engine.ts";
import { FINISHED, putJobs, stateOf } from "../harness/jobs.ts";

const ACTOR: JobActor = { audit: auditLog, actorId: "operator", queue: "emails" };

type Move = keyof typeof JOB_MOVES;
interface Stage {
  engine: Database;
  lane: LaneKey;
  key: JobKey;
  leaseId: number;
}

const claim = ({ key, leaseId }: Stage) => ({ ...key, leaseId, attempt: 1, logEntry: "{}" });
const refuse = (stage: Stage, to: "waiting" | "delayed" | "failed", attempt = 1) =>
  settleNotCompletedAcrossWorkspaces(stage.engine, [
    {
      ...claim(stage),
      attempt,
      to,
      waitMs: 1_000,
      aloneWaitMs: null,
      error: "{}",
      errorCode: null,
      recorded: true,
      spared: to === "waiting",
    },
  ]);
const takeBack = ({ engine, leaseId, lane }: Stage, maxLosses: number) =>
  takeBackAcrossWorkspaces(engine, {
    leaseId,
    outcome: "lost",
    error: "{}",
    maxLosses,
    plainKinds: ["queue"],
    onceKinds: [],
    lane,
    limit: 100,
  });

const RULING = { decision: "approved", by: null, comment: null } as const;

/** A job of an approval queue, with this rule for jobs that are not decided in time. */
async function ofApprovals(stage: Stage, onTimeout: "approve" | "reject" = "reject"): Promise<Stage> {
  const { workspaceId, laneId } = stage.lane;
  await stage.engine.query(sql`
    update queue set type = 'approval', approval_timeout = 1, on_timeout = ${onTimeout} where workspace_id = ${workspaceId} and id = ${laneId}`);
  return stage;
}

/** The job, due in a minute. */
async function postponed(stage: Stage): Promise<Stage> {
  const { workspaceId, laneId, id } = stage.key;
  await stage.engine.query(sql`
    update job set run_at = moment() + interval '1 minute'
    where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'pending_approval'`);
  return stage;
}

async function decideByTimeout(stage: Stage, onTimeout: "approve" | "reject"): Promise<void> {
  const { workspaceId, laneId, id } = stage.key;
  await ofApprovals(stage, onTimeout);
  await stage.engine.query(sql`
    update job set decide_at = moment()
    where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'pending_approval'`);
  await decideSharesAcrossWorkspaces(stage.engine, [workspaceId], { maxJobs: 10, maxWeight: 10, bytesPerWeight: 8_000 });
}

/** The statements that make each move of an existing job. */
const STATEMENTS: [move: Move, how: string, run: (stage: Stage) => Promise<unknown>][] = [
  ["comeDue", "moveDue", ({ engine }) => moveDueAcrossWorkspaces(engine, 100)],
  ["claim", "claim", ({ engine, lane, leaseId }) => claimAcrossWorkspaces(engine, { leaseId, served: "push" }, [{ ...lane, take: 10 }])],
  ["succeed", "complete", (stage) => completeAcrossWorkspaces(stage.engine, [{ ...claim(stage), result: null }])],
  ["backOff", "refuse", (stage) => refuse(stage, "delayed")],
  ["exhaust", "refuse", (stage) => refuse(stage, "failed")],
  ["exhaust", "takeBack, once too often", (stage) => takeBack(stage, 1)],
  ["release", "refuse", (stage) => refuse(stage, "waiting")],
  ["release", "takeBack", (stage) => takeBack(stage, 3)],
  ["cancel", "cancel", ({ engine, key }) => cancelJob(engine, key, false)],
  ["approve", "approve", ({ engine, key }) => approveJob(engine, key, RULING)],
  ["approve", "decideShares", (stage) => decideByTimeout(stage, "approve")],
  ["approveDelayed", "approve", (stage) => postponed(stage).then(({ engine, key }) => approveJob(engine, key, RULING))],
  ["approveDelayed", "decideShares", (stage) => postponed(stage).then((later) => decideByTimeout(later, "approve"))],
  ["reject", "reject", ({ engine, key }) => rejectJob(engine, key, RULING)],
  ["reject", "decideShares", (stage) => decideByTimeout(stage, "reject")],
  [
    "requireApprovalAgain",
    "bringJobBack",
    (stage) => ofApprovals(stage).then(({ engine, key }) => restoreJob(engine, key, "pending_approval")),
  ],
  ["retry", "retry", ({ engine, key }) => retryJob(engine, ACTOR, key).catch((error) => expect(error).toBeInstanceOf(ProblemError))],
  ["remove", "remove", ({ engine, key }) => removeJob(engine, key)],
];

async function put(database: TestDatabase, engine: Database, state: JobState): Promise<Stage & { id: JobId }> {
  const lane = await putLane(database);
  const leaseId = await putNode(database);
  const [id] = await putJobs(database, lane, { state, leaseId: state === "active" ? leaseId : undefined } as Parameters<typeof putJobs>[2]);
  if (!id) throw new Error("No job was put.");
  return { engine, lane, leaseId, key: { ...lane, id }, id };
}

describe("the table of moves", () => {
  test("the table of moves has a statement for every move of a job that exists", () => {
    const ofThere = Object.entries(JOB_MOVES)
      .filter(([, { from }]) => !(from as readonly unknown[]).includes(null))
      .map(([move]) => move);
    expect([...new Set(STATEMENTS.map(([move]) => move))].sort()).toEqual(ofThere.sort());
  });

  test("the table of moves reaches every state", () => {
    const reached = new Set<JobState | null>([null]);
    for (let size = 0; size < reached.size; ) {
      size = reached.size;
      for (const { from, to } of Object.values(JOB_MOVES))
        if ((from as readonly (JobState | null)[]).some((state) => reached.has(state))) reached.add(to);
    }
    expect(JOB_STATES.filter((state) => !reached.has(state))).toEqual([]);
  });

  test("the table of moves has a way out of every state but the last ones, and a way to be gone from those", () => {
    for (const state of JOB_STATES)
      expect(Object.values(JOB_MOVES).some(({ from }) => (from as readonly (JobState | null)[]).includes(state))).toBe(true);
    expect(JOB_MOVES.remove.from).toEqual(["completed", "failed", "cancelled", "rejected"]);
  });
});

describe.for(STATEMENTS)("%s, by %s", ([move, , run]) => {
  const { from, to } = JOB_MOVES[move] as { from: readonly JobState[]; to: JobState | null };

  test.for(JOB_STATES)("a job that is %s goes as the table of moves has it", async (state, { database, engine }) => {
    const { id, ...stage } = await put(database, engine, state);
    await run(stage);
    expect(await stateOf(database, id)).toBe(from.includes(state) ? to : state);
  });
});

describe("a settle moves nothing", () => {
  const wrong: [string, (stage: Stage) => Stage & { attempt?: number }][] = [
    ["of another node", (stage) => ({ ...stage, leaseId: stage.leaseId + 1 })],
    [
      "of another workspace",
      (stage) => ({ ...stage, key: { ...stage.key, workspaceId: "01900000-0000-7000-8000-000000000009" as JobKey["workspaceId"] } }),
    ],
    ["of another attempt", (stage) => ({ ...stage, attempt: 2 })],
  ];
  test.for(wrong)("a settle moves nothing %s", async ([, change], { database, engine }) => {
    const { id, ...stage } = await put(database, engine, "active");
    const { attempt = 1, ...other } = change(stage);
    expect(await completeAcrossWorkspaces(engine, [{ ...claim(other), attempt, result: null }])).toMatchObject({ moved: 0 });
    for (const to of ["waiting", "delayed", "failed"] as const) {
      expect(await refuse(other, to, attempt)).toMatchObject({ moved: 0 });
    }
    expect(await stateOf(database, id)).toBe("active");
  });
});

describe("the database", () => {
  test("the database knows the same states as the contract", async ({ database }) => {
    expect(await database.query("select unnest(enum_range(null::job_state))::text as state")).toEqual(
      JOB_STATES.map((state) => ({ state })),
    );
  });

  const live = JOB_STATES.filter((state) => !FINISHED.includes(state));
  /** States that SQL cannot tell apart: they have neither a node nor an end. */
  const alike: readonly JobState[] = ["waiting", "delayed", "pending_approval"];
  const refused = live.flatMap((from) =>
    JOB_STATES.filter((to) => from !== to && !(alike.includes(from) && alike.includes(to))).map((to) => [from, to] as const),
  );

  test.for(refused)("the database refuses a job that is %s to be %s by its state alone", async ([from, to], { database, engine }) => {
    const { id } = await put(database, engine, from);
    await expect(database.query("update job set state = $1 where id = $2", [to, id])).rejects.toMatchObject({ code: "23514" });
  });

  test.for(live)("the database refuses %s in history", async (state, { database, engine }) => {
    const { id } = await put(database, engine, "completed");
    await expect(database.query("update job_history set state = $1 where id = $2", [state, id])).rejects.toMatchObject({ code: "23514" });
  });

  test("the database refuses an attempt more than is allowed, and more spared than there were", async ({ database, engine }) => {
    const { id } = await put(database, engine, "waiting");
    await expect(database.query("update job set attempt = attempts + 1 where id = $1", [id])).rejects.toMatchObject({ code: "23514" });
    await expect(database.query("update job set spared = attempt + 1 where id = $1", [id])).rejects.toMatchObject({ code: "23514" });
    await database.query("update job set attempt = attempts + 1, spared = 1 where id = $1", [id]);
  });
});
