import type { JobState } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { uuidOf, type WorkspaceId } from "#kernel";
import { findJobs, prepareSearch } from "../../src/jobs/search.ts";
import { test, uuidOfJob } from "../harness/engine.ts";
import type { Service } from "../harness/service.ts";

interface Listed {
  readonly id: string;
  readonly queue: string;
  readonly state: JobState;
  readonly payload: unknown;
}

const list = (service: Service, query: Record<string, string> = {}) => service.ok("GET", `/v1/jobs?${new URLSearchParams(query)}`);
const payloads = async (service: Service, query: Record<string, string> = {}): Promise<unknown[]> =>
  (await list(service, query)).data.map(({ payload }: Listed) => payload);

/** Jobs in every state, in two queues that workers serve, one of approvals and one with a handler. Their payloads name their states. */
async function everyState(service: Service): Promise<Record<JobState, Listed>> {
  const handler = await service.handler({ answers: ({ body }) => (body.payload === "failed" ? 410 : 200) });
  const pulled = await service.queue();
  const approvals = await service.queue({ type: "approval" });
  const sent: [JobState, string, object?][] = [
    ["completed", handler.queue, { tag: "a" }],
    ["failed", handler.queue, { tag: "b" }],
    ["cancelled", pulled, { tag: "a", concurrencyKey: "k" }],
    ["active", pulled, { concurrencyKey: "k", tag: "b" }],
    ["waiting", pulled, { tag: "a" }],
    ["delayed", pulled, { delay: 60 }],
    ["pending_approval", approvals, { tag: "a" }],
    ["rejected", approvals],
  ];
  const jobs = {} as Record<JobState, Listed>;
  for (const [state, queue, more] of sent) {
    jobs[state] = await service.enqueue({ queue, payload: state, ...more });
    if (state === "completed" || state === "failed") await service.untilState(jobs[state], state);
    if (state === "cancelled") await service.ok("DELETE", `/v1/queues/${queue}/jobs/${jobs[state].id}`);
    if (state === "active") await service.ok("POST", `/v1/queues/${queue}/jobs/claim`, { worker: "w", limit: 1 });
    if (state === "rejected") await service.ok("POST", `/v1/queues/${queue}/jobs/${jobs[state].id}/reject`);
  }
  return jobs;
}

const NEWEST_FIRST = ["rejected", "pending_approval", "delayed", "waiting", "active", "cancelled", "failed", "completed"];

describe("GET /v1/jobs", () => {
  test("GET /v1/jobs lists the jobs of all queues, live and finished, newest first, each as it is read alone", async ({ service }) => {
    await everyState(service);
    const { data, next_cursor, searched_until } = await list(service);
    expect(data.map(({ state }: Listed) => state)).toEqual(NEWEST_FIRST);
    expect([next_cursor, searched_until]).toEqual([null, null]);
    for (const job of data) {
      const { attempts_log: _, ...record } = await service.job(job);
      expect(job).toEqual(record);
    }
  });

  test("GET /v1/jobs filters by everything that it says: one of each that is given, all kinds together", async ({ service }) => {
    const jobs = await everyState(service);
    for (const state of NEWEST_FIRST) expect([state, await payloads(service, { state })]).toEqual([state, [state]]);
    expect(await payloads(service, { state: "waiting,failed,active" })).toEqual(["waiting", "active", "failed"]);
    expect(await payloads(service, { queue: jobs.waiting.queue })).toEqual(["delayed", "waiting", "active", "cancelled"]);
    expect(await payloads(service, { queue: `${jobs.waiting.queue},${jobs.failed.queue}`, state: "active,failed,completed" })).toEqual([
      "active",
      "failed",
      "completed",
    ]);
    expect(await payloads(service, { queue: jobs.waiting.queue, state: "active" })).toEqual(["active"]);
    expect(await payloads(service, { queue: jobs.waiting.queue, state: "delayed" })).toEqual(["delayed"]);
    expect(await payloads(service, { queue: "nowhere" })).toEqual([]);
    expect(await payloads(service, { tag: "a" })).toEqual(["pending_approval", "waiting", "cancelled", "completed"]);
    expect(await payloads(service, { tag: "a,b", state: "failed,active,waiting" })).toEqual(["waiting", "active", "failed"]);
    expect(await payloads(service, { tag: "b", queue: jobs.active.queue })).toEqual(["active"]);
    expect(await payloads(service, { concurrency_key: "k" })).toEqual(["active", "cancelled"]);
    expect(await payloads(service, { concurrency_key: "k", state: "cancelled" })).toEqual(["cancelled"]);
    expect(await payloads(service, { error_code: "HTTP_STATUS" })).toEqual(["failed"]);
    expect(await payloads(service, { error_code: "TIMEOUT,DNS" })).toEqual([]);
    const ids = [jobs.active.id, jobs.completed.id, jobs.waiting.id];
    expect(await payloads(service, { id: ids.join(",") })).toEqual(["waiting", "active", "completed"]);
    expect(await payloads(service, { id: ids.join(","), state: "active" })).toEqual(["active"]);
  });

  test("GET /v1/jobs filters by when jobs were enqueued: from a moment on, and before one", async ({ service }) => {
    const queue = await service.queue();
    const moments: string[] = [];
    for (const payload of [1, 2, 3]) {
      moments.push((await service.enqueue({ queue, payload })).created_at);
      await service.advance(3_600);
    }
    const [first = "", second = "", third = ""] = moments;
    expect(await payloads(service, { created_after: second })).toEqual([3, 2]);
    expect(await payloads(service, { created_before: second })).toEqual([1]);
    expect(await payloads(service, { created_after: first, created_before: third })).toEqual([2, 1]);
    expect(await payloads(service, { created_after: third, created_before: second })).toEqual([]);
  });

  test("GET /v1/jobs looks for a plain part of the payload's text: what is a pattern elsewhere is only text here", async ({ service }) => {
    const queue = await service.queue();
    for (const payload of ["100%", "100x", "a_c", "abc", "(a+)+$", "back\\slash", { to: "ADA" }, { to: "ada" }])
      await service.enqueue({ queue, payload });
    const of = (text: string) => payloads(service, { payload_contains: text });
    expect(await of("100%")).toEqual(["100%"]);
    expect(await of("a_c")).toEqual(["a_c"]);
    expect(await of("(a+)+$")).toEqual(["(a+)+$"]);
    expect(await of("\\\\slash")).toEqual(["back\\slash"]);
    expect(await of('"to":"ada"')).toEqual([{ to: "ada" }]);
    expect(await of("nothing like it")).toEqual([]);
  });

  test.for([{}, { state: "waiting,delayed,completed" }, { tag: "a" }, { queue: "QUEUES" }])(
    "GET /v1/jobs pages through %j without holes or repeats while jobs move and are added",
    async (query: Record<string, string>, { service }) => {
      const queues = [await service.queue(), await service.queue()];
      const jobs: Listed[] = [];
      for (let index = 0; index < 12; index += 1)
        jobs.unshift(await service.enqueue({ queue: queues[index % 2] ?? "", payload: index, tag: "a" }));
      const found: unknown[] = [];
      let moved = 11;
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page = await list(service, { ...query, ...(query.queue && { queue: queues.join() }), limit: "5", ...(cursor && { cursor }) });
        found.push(...page.data.map(({ payload }: Listed) => payload));
        cursor = page.next_cursor;
        await service.enqueue({ queue: queues[0] ?? "", payload: "new", tag: "a" });
        const job = jobs[moved--];
        if (job && query.state === undefined) await service.ok("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`);
      }
      expect(found).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    },
  );

  test("GET /v1/jobs shows no jobs of a deleted queue, none that have expired, and no wake-ups of runs", async ({ service, database }) => {
    const [gone, kept] = [await service.queue(), await service.queue()];
    await service.enqueue({ queue: gone });
    const job = await service.enqueue({ queue: kept, payload: "expired" });
    await service.ok("DELETE", `/v1/queues/${kept}/jobs/${job.id}`);
    await database.query("update job_history set expires_at = tidemill.moment() where id = $1", [uuidOfJob(job)]);
    await service.ok("DELETE", `/v1/queues/${gone}`);
    await service.ok("PUT", "/v1/workflows/onboard", {});
    await service.ok("POST", "/v1/workflows/onboard/trigger", {});
    expect(await payloads(service)).toEqual([]);
    expect(await service.ok("GET", "/v1/jobs/count")).toEqual({ count: 0, exact: true });
  });

  test("GET /v1/jobs reads a limited number of rows and payload bytes, goes on behind them, and finds all in the end", async ({
    service,
    tenants,
  }) => {
    const queue = await service.queue();
    const large = "x".repeat(300_000);
    const ids: string[] = [];
    for (let index = 0; index < 12; index += 1) {
      const job = await service.enqueue({ queue, payload: index % 6 === 0 ? "needle" : index % 3 === 0 ? large : "hay" });
      ids.unshift(uuidOfJob(job));
      if (index % 2 === 0) await service.ok("DELETE", `/v1/queues/${queue}/jobs/${job.id}`);
    }
    const workspaceId = uuidOf("ws", service.workspaceId) as WorkspaceId;
    const db = tenants.of(workspaceId);
    const search = await prepareSearch(db, workspaceId, { payload_contains: "needle" });
    if (search === null) throw new Error("There is a queue.");
    const pages: (readonly [string | null, string[]])[] = [];
    let from: string | null = null;
    do {
      const found = await findJobs(db, search, from as never, 51, 6);
      pages.push([found[0]?.reached ?? null, found.filter(({ found }) => found !== null).map(({ id }) => id)]);
      from = found[0]?.reached ?? null;
    } while (from !== null);
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.flatMap(([, found]) => found)).toEqual([ids[5], ids[11]]);
  });

  test("GET /v1/jobs/count counts what the list shows", async ({ service }) => {
    const jobs = await everyState(service);
    const count = (query: Record<string, string>) => service.ok("GET", `/v1/jobs/count?${new URLSearchParams(query)}`);
    expect(await count({})).toEqual({ count: 8, exact: true });
    expect(await count({ state: "active,completed" })).toEqual({ count: 2, exact: true });
    expect(await count({ queue: jobs.waiting.queue })).toEqual({ count: 4, exact: true });
    expect(await count({ payload_contains: "ed" })).toEqual({ count: 5, exact: true });
  });

  test.for([
    "limit=0",
    "cursor=x",
    "state=gone",
    "error_code=OOPS",
    "id=run_1",
    "created_after=yesterday",
    "payload_contains=",
    "status=failed",
  ])("GET /v1/jobs refuses %s", async (query, { service }) => {
    const reply = await service.api("GET", `/v1/jobs?${query}`);
    expect([reply.status, reply.body.error.code]).toEqual([400, "VALIDATION_ERROR"]);
  });
});
