import { describe, expect } from "vitest";
import { type Db, type Statement, Tenants, uuidOf, type WorkspaceId } from "#kernel";
import { queueNotFound } from "#lanes";
import { operate } from "../harness/operator.ts";
import { faultsOf } from "../harness/problem.ts";
import { newWorkspace, Service, test } from "../harness/service.ts";

const JOB = "job_01kajv3k4ve6nsd9z5kgtzx0rw";
const KEY = "key_01kajv3k4ve6nsd9z5kgtzx0rw";
const WORKSPACE = "ws_01m7zf6kffe00a0a7enfysbfm9";
const CRON = { cron: "@yearly", timezone: "UTC" };

interface PlanNode {
  readonly "Node Type": string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly Plans?: readonly PlanNode[];
}

const scansOf = (node: PlanNode): PlanNode[] => [
  ...(/Scan$/.test(node["Node Type"]) ? [node] : []),
  ...(node.Plans ?? []).flatMap(scansOf),
];

/** The `NOT_FOUND` details of a request. */
async function missedBy(service: Service, method: string, path: string, body?: unknown): Promise<{ message: string; details: unknown }> {
  const reply = await service.api(method, path, body);
  expect([method, path, ...faultsOf(reply, "NOT_FOUND")]).toEqual([method, path]);
  const { message, details } = reply.body.error;
  return { message, details };
}

const missed = (resource: string, name: string, suggestion: string | null) => ({
  message: `There is no ${resource} "${name}".${suggestion === null ? "" : ` Did you mean "${suggestion}"?`}`,
  details: { resource, name, suggestion },
});

describe("NOT_FOUND", () => {
  test("NOT_FOUND names the queue, and the one that was probably meant", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "email" });
    await service.ok("POST", "/v1/schedules", { ...CRON, name: "daily", queue: "email" });
    for (const [method, path, body] of [
      ["GET", "/v1/queues/emial"],
      ["PATCH", "/v1/queues/emial", { paused: true }],
      ["DELETE", "/v1/queues/emial"],
      ["POST", "/v1/queues/emial/retry-all"],
      ["GET", "/v1/queues/emial/jobs"],
      ["POST", "/v1/queues/emial/jobs", { payload: 1 }],
      ["POST", "/v1/queues/emial/jobs", { payload: 1, idempotencyKey: "once" }],
      ["POST", "/v1/queues/emial/jobs", { payload: 1, concurrencyKey: "one" }],
      ["POST", "/v1/queues/emial/jobs/batch", [{ payload: 1 }, { payload: 2 }]],
      ["GET", `/v1/queues/emial/jobs/${JOB}`],
      ["DELETE", `/v1/queues/emial/jobs/${JOB}`],
      ["POST", `/v1/queues/emial/jobs/${JOB}/retry`],
      ["GET", `/v1/queues/emial/jobs/${JOB}/explain`],
      ["POST", `/v1/queues/emial/jobs/${JOB}/approve`],
      ["POST", `/v1/queues/emial/jobs/${JOB}/reject`],
      ["POST", "/v1/dlq/retry", { queue: "emial" }],
      ["POST", "/v1/dlq/purge", { queue: "emial" }],
      ["POST", "/v1/schedules", { ...CRON, queue: "emial" }],
      ["PATCH", "/v1/schedules/daily", { queue: "emial" }],
    ] as [string, string, unknown?][])
      expect([method, path, await missedBy(service, method, path, body)]).toEqual([method, path, missed("queue", "emial", "email")]);
  });

  test("NOT_FOUND names the queue of a workspace with a quota, too", async ({ service, database }) => {
    const workspace = await newWorkspace(database, "free");
    const limited = new Service(service.node, database, service.clock, workspace);
    await limited.ok("POST", "/v1/queues", { name: "email" });
    expect(await missedBy(limited, "POST", "/v1/queues/emial/jobs", { payload: 1 })).toEqual(missed("queue", "emial", "email"));
  });

  test("NOT_FOUND names the schedule, and the one that was probably meant", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "reports" });
    await service.ok("POST", "/v1/schedules", { ...CRON, name: "daily-report", queue: "reports" });
    for (const [method, path, body] of [
      ["GET", ""],
      ["PATCH", "", { tag: "t" }],
      ["DELETE", ""],
      ["PATCH", "/pause"],
      ["PATCH", "/resume"],
      ["POST", "/trigger"],
    ] as [string, string, unknown?][]) {
      const asked = `/v1/schedules/dayly-report${path}`;
      expect([method, path, await missedBy(service, method, asked, body)]).toEqual([
        method,
        path,
        missed("schedule", "dayly-report", "daily-report"),
      ]);
    }
  });

  test("NOT_FOUND names the secret, and the one that was probably meant", async ({ service }) => {
    await service.ok("POST", "/v1/secrets", { name: "STRIPE_KEY", value: "x" });
    for (const [method, body] of [
      ["PATCH", { value: "y" }],
      ["PATCH", { allowed_queues: null }],
      ["DELETE", undefined],
    ] as const)
      expect(await missedBy(service, method, "/v1/secrets/STRIP_KEY", body)).toEqual(missed("secret", "STRIP_KEY", "STRIPE_KEY"));
  });

  test("NOT_FOUND names the job and the queue that it was looked for in", async ({ service }) => {
    const queue = await service.queue();
    const elsewhere = await service.enqueue({ queue: await service.queue() });
    for (const id of [JOB, elsewhere.id])
      for (const [method, verb] of [
        ["GET", ""],
        ["DELETE", ""],
        ["POST", "/retry"],
        ["GET", "/explain"],
        ["POST", "/replay"],
        ["POST", "/approve"],
        ["POST", "/reject"],
      ] as const)
        expect(await missedBy(service, method, `/v1/queues/${queue}/jobs/${id}${verb}`)).toEqual({
          message: `There is no job "${id}" in the queue "${queue}".`,
          details: { resource: "job", id, queue },
        });
  });

  test("NOT_FOUND names the key, and to the operator the workspace", async ({ service }) => {
    const key = { message: `There is no key "${KEY}".`, details: { resource: "key", id: KEY } };
    expect(await missedBy(service, "DELETE", `/v1/keys/${KEY}`)).toEqual(key);
    const revoke = await operate(service, "DELETE", `/admin/v1/workspaces/${service.workspaceId}/keys/${KEY}`);
    expect(revoke.body.error).toEqual({ code: "NOT_FOUND", ...key });
    for (const [method, path, body] of [
      ["GET", ""],
      ["PATCH", "", { name: "x" }],
      ["DELETE", ""],
      ["GET", "/keys"],
      ["POST", "/keys", { name: "x" }],
    ] as [string, string, unknown?][]) {
      const { body: reply } = await operate(service, method, `/admin/v1/workspaces/${WORKSPACE}${path}`, body);
      expect([method, path, reply.error]).toEqual([
        method,
        path,
        { code: "NOT_FOUND", message: `There is no workspace "${WORKSPACE}".`, details: { resource: "workspace", id: WORKSPACE } },
      ]);
    }
  });

  test("NOT_FOUND names the route by its method and path, and one that is near", async ({ service }) => {
    expect(await missedBy(service, "POST", "/v1/queue/emails/jobs?x=1", { payload: 1 })).toEqual({
      message: 'There is no route POST /v1/queue/emails/jobs. Did you mean "/v1/queues/emails/jobs"?',
      details: { resource: "route", method: "POST", path: "/v1/queue/emails/jobs", suggestion: "/v1/queues/emails/jobs" },
    });
    expect(await missedBy(service, "GET", "/v1/nope")).toEqual({
      message: "There is no route GET /v1/nope.",
      details: { resource: "route", method: "GET", path: "/v1/nope", suggestion: null },
    });
  });

  test("NOT_FOUND shows the first 256 characters of a name that is too long to be one", async ({ service }) => {
    const name = 'é"🌊'.repeat(10_000);
    const shown = `${name.slice(0, 256)}…`;
    const { message, details } = await missedBy(service, "POST", "/v1/dlq/retry", { queue: name });
    expect(details).toEqual({ resource: "queue", name: shown, suggestion: null });
    expect(message).toBe(`There is no queue ${JSON.stringify(shown)}.`);
    const path = `/v1/${"x".repeat(4_000)}`;
    expect((await missedBy(service, "GET", path)).details).toMatchObject({ path: `${path.slice(0, 256)}…` });
  });
});

describe("what was probably meant", () => {
  test("what was probably meant is a name of the workspace's own, never another's", async ({ service }) => {
    const { node, database, clock } = service;
    const other = new Service(node, database, clock, await newWorkspace(database));
    await other.ok("POST", "/v1/queues", { name: "email" });
    expect(await missedBy(service, "GET", "/v1/queues/emial")).toEqual(missed("queue", "emial", null));
    await service.ok("POST", "/v1/queues", { name: "emails" });
    expect(await missedBy(service, "GET", "/v1/queues/emial")).toEqual(missed("queue", "emial", "emails"));
    expect(await missedBy(service, "GET", "/v1/queues/email")).toEqual(missed("queue", "email", "emails"));
  });

  test("what was probably meant is nothing that was deleted", async ({ service }) => {
    await service.ok("POST", "/v1/queues", { name: "email" });
    await service.ok("DELETE", "/v1/queues/email");
    expect(await missedBy(service, "GET", "/v1/queues/emial")).toEqual(missed("queue", "emial", null));
  });

  test("what was probably meant is found among 20,000 names by reading 100 on each side of the one that is missing", async ({
    service,
    database,
    onTestFinished,
  }) => {
    const workspaceId = uuidOf("ws", service.workspaceId) as WorkspaceId;
    await database.query(
      `with inserted as (
        insert into lane (workspace_id, kind, name, served)
        select $1, 'queue', to_char(n, 'FM"tenant-"00000'), 'pull' from generate_series(1, 20000) n
        returning workspace_id, id
      )
      insert into queue (workspace_id, id) select workspace_id, id from inserted`,
      [workspaceId],
    );
    await service.ok("POST", "/v1/queues", { name: "tenant-emails" });
    await database.query("analyze lane, queue");
    expect(await missedBy(service, "GET", "/v1/queues/tenant-emials")).toEqual(missed("queue", "tenant-emials", "tenant-emails"));
    const statements: Statement[] = [];
    const spy: Db = {
      query: async (statement) => {
        statements.push(statement);
        return { rows: [] };
      },
    };
    await queueNotFound(spy, workspaceId, "tenant-10000x");
    const tenants = new Tenants({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 5_000 });
    onTestFinished(() => tenants.close());
    const scans = [];
    for (const { text, values } of statements) {
      const explained = await tenants.of(workspaceId).query({ name: "explain", text: `explain (analyze, format json) ${text}`, values });
      const [{ "QUERY PLAN": plans }] = explained.rows as [{ "QUERY PLAN": { Plan: PlanNode }[] }];
      scans.push(...plans.flatMap(({ Plan }) => scansOf(Plan)));
    }
    expect(scans.map((scan) => [scan["Index Name"], scan["Actual Rows"]])).toEqual([
      ["lane_name", 100],
      ["lane_name", 100],
    ]);
  });
});
