import type { JobState } from "@tidemill/contract";
import { expect } from "vitest";
import type { JobActor, JobKey } from "#jobs";
import { approveJob, completeAcrossWorkspaces, moveDueAcrossWorkspaces } from "#jobs";
import type { Database, Transactional } from "#kernel";
import { cancelOrRemove } from "../../src/jobs/cancel.ts";
import { auditLog } from "../harness/audit.ts";
import { putLane, putNode, test } from "../harness/engine.ts";
import { putJobs, stateOf } from "../harness/jobs.ts";
import { isWaiting } from "../harness/locks.ts";
import { until } from "../harness/service.ts";

const ACTOR: JobActor = { audit: auditLog, actorId: "operator", queue: "emails" };

/** The database. After the first statement of a transaction, something else happens once. */
function interrupted(database: Transactional, happen: () => Promise<void>): Transactional {
  let statements = 0;
  return {
    query: (statement) => database.query(statement),
    transaction: (work) =>
      database.transaction((tx) =>
        work({
          query: async (statement) => {
            const result = await tx.query(statement);
            statements += 1;
            if (statements === 1) await happen();
            return result;
          },
        }),
      ),
  };
}

const MOVES: [
  how: string,
  from: JobState,
  move: (engine: Database, key: JobKey, leaseId: number) => Promise<unknown>,
  to: JobState | null,
][] = [
  ["comes due", "delayed", (engine) => moveDueAcrossWorkspaces(engine, 100), "cancelled"],
  [
    "is approved",
    "pending_approval",
    (engine, key) => approveJob(engine, key, { decision: "approved", by: null, comment: null }),
    "cancelled",
  ],
  [
    "is completed",
    "active",
    (engine, key, leaseId) => completeAcrossWorkspaces(engine, [{ ...key, leaseId, attempt: 1, logEntry: "{}", result: null }]),
    null,
  ],
];

test.for(MOVES)(
  "a cancel and what moves a job with a key never wait for each other when the job %s meanwhile",
  async ([, from, move, to], { database, engine }) => {
    const lane = await putLane(database);
    const leaseId = await putNode(database);
    const [id] = await putJobs(database, lane, { state: from, ...(from === "active" && { leaseId }) });
    if (!id) throw new Error("No job was put.");
    await database.query("update job set concurrency_key = 'k', key_slot = case when state = 'active' then 1 end where id = $1", [id]);
    const key = { ...lane, id };
    let moved = false;
    const moving: Promise<unknown>[] = [];
    const meanwhile = async () => {
      moving.push(move(engine, key, leaseId).finally(() => (moved = true)));
      await until(async () => moved || (await isWaiting(database, "assign_key_slots")), "the move to end, or to wait");
    };
    await cancelOrRemove(interrupted(engine, meanwhile), ACTOR, key);
    await Promise.all(moving);
    expect([moved, await stateOf(database, id)]).toEqual([true, to]);
  },
);
