import { describe, expect } from "vitest";
import { insertJobsAcrossWorkspaces, type JobToInsert } from "#jobs";
import { type JobId, toRfc3339 } from "#kernel";
import { putLane, putNode, test } from "../harness/engine.ts";
import { PLAIN_JOB } from "../harness/jobs.ts";

let made = 0;
const newJob = (more: Partial<JobToInsert> = {}): JobToInsert => ({
  ...PLAIN_JOB,
  id: `01900000-0000-7000-9100-${String(++made).padStart(12, "0")}` as JobId,
  eager: false,
  tick: null,
  ...more,
});

describe("jobs of an ordinary and of an approval queue that one statement inserts", () => {
  // The statement has a form for each.
  test.for<[string, Partial<JobToInsert>, string, string]>([
    ["all wait", {}, "waiting", "pending_approval"],
    ["some may start eagerly", { eager: true }, "active", "pending_approval"],
    ["some are delayed", { delaySeconds: 60 }, "delayed", "pending_approval"],
    ["some have a concurrency key", { concurrencyKey: "a" }, "waiting", "pending_approval"],
  ])("are reported and counted as they are stored when %s", async ([, special, ordinary, held], { database, engine }) => {
    const [lane, approvals] = [await putLane(database), await putLane(database)];
    await database.query("update queue set type = 'approval', approval_timeout = 60, on_timeout = 'reject' where id = $1", [
      approvals.laneId,
    ]);
    const workspaces = [lane.workspaceId, approvals.workspaceId];
    const leaseId = await putNode(database);
    const requests = [
      { workspaceId: lane.workspaceId, queue: "emails", jobs: [newJob(special)] },
      { workspaceId: approvals.workspaceId, queue: "emails", jobs: [newJob(special), newJob()] },
      { workspaceId: lane.workspaceId, queue: "emails", jobs: [newJob(), newJob()] },
      { workspaceId: lane.workspaceId, queue: "missing", jobs: [newJob()] },
    ];

    const inserted = await insertJobsAcrossWorkspaces(engine, leaseId, requests);

    expect(inserted.map((jobs) => jobs?.map(({ state }) => state) ?? null)).toEqual([
      [ordinary],
      [held, held],
      ["waiting", "waiting"],
      null,
    ]);
    const reported = requests.flatMap(({ jobs }, at) =>
      (inserted[at] ?? []).map(({ state, runAt }, n) => ({ id: jobs[n]?.id, state, runAt })),
    );
    const stored = await database.query<{ id: JobId; state: string; run_at: string }>(
      "select id, state, run_at::text from job where workspace_id = any($1) order by id",
      [workspaces],
    );
    expect(reported).toEqual(stored.map(({ id, state, run_at }) => ({ id, state, runAt: toRfc3339(run_at) })));
    expect(await database.query("select * from count_drift(null)")).toEqual([]);
    const usage = await database.query("select workspace_id, jobs::int from usage_delta where workspace_id = any($1) order by jobs", [
      workspaces,
    ]);
    expect(usage).toEqual([
      { workspace_id: approvals.workspaceId, jobs: 2 },
      { workspace_id: lane.workspaceId, jobs: 3 },
    ]);
  });
});
