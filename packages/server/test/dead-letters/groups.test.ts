import { describe, expect } from "vitest";
import { type Database, sql } from "#kernel";
import { FOLD_LOCK, foldGroupsAcrossWorkspaces, sweepGroupsAcrossWorkspaces } from "../../src/dead-letters/groups-store.ts";
import { laneOf, test } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { newWorkspace, Service, until } from "../harness/service.ts";

interface Group {
  readonly fingerprint: string;
  readonly error: { code: string; status: number | null; host: string | null; message: string };
  readonly queues: string[];
  readonly count: number;
  readonly trend: number[];
  readonly sample_job: { id: string; queue: string } | null;
}

const groupsOf = async (service: Service, query = ""): Promise<Group[]> => (await service.ok("GET", `/v1/dlq/groups${query}`)).data;
const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0);

/** A worker that takes the jobs of a queue, and fails each with an error of this message. */
async function failAll(service: Service, queue: string, messageOf: (payload: unknown) => string): Promise<void> {
  const { jobs } = await service.ok("POST", "/v1/work", { worker: "w", queues: [queue], limit: 500, wait: 0 });
  const settle = jobs.map(({ id, lease_token, payload }: { id: string; lease_token: string; payload: unknown }) => ({
    id,
    lease_token,
    outcome: "failed",
    error: messageOf(payload),
    retry: false,
  }));
  await service.ok("POST", "/v1/work", { worker: "w", queues: [queue], limit: 1, wait: 0, settle });
}

/** Waits until the node's own loop is not folding: a fold beside another one does nothing. */
const fold = (engine: Database): Promise<void> =>
  engine.transaction(async (tx) => {
    await tx.query(sql`select pg_advisory_xact_lock(${FOLD_LOCK})`);
    await foldGroupsAcrossWorkspaces(tx);
  });

async function failWith(service: Service, queue: string, messages: readonly string[]): Promise<void> {
  await service.ok(
    "POST",
    `/v1/queues/${queue}/jobs/batch`,
    messages.map((payload) => ({ payload })),
  );
  await failAll(service, queue, String);
}

describe("GET /v1/dlq/groups", () => {
  test("GET /v1/dlq/groups puts jobs together that failed in the same way, whatever their numbers and names", async ({
    service,
    engine,
  }) => {
    const queues = [await service.queue(), await service.queue()] as const;
    await failWith(service, queues[0], [
      'User "ada" has no order 1815 at https://api.example.com/orders/1815?x=1',
      'User "alan" has no order 1912 at https://eu.example.com/orders/1912',
      "User 'grace' has no order 7 at http://10.0.0.1:8080/",
    ]);
    await failWith(service, queues[1], ['User "edsger" has no order 42 at https://api.example.com/orders/42', "Out of memory"]);
    const check = async () => {
      const found = await groupsOf(service);
      expect(found.map(({ count, error }) => [count, error.message]).sort()).toEqual([
        [1, "Out of memory"],
        [4, "User … has no order # at …"],
      ]);
      const many = found.find(({ count }) => count === 4) as Group;
      expect(many).toMatchObject({ error: { code: "WORKER_FAILED", status: null, host: null }, queues: [...queues].sort() });
      expect([sum(many.trend), many.trend.at(-1), many.trend.length]).toEqual([4, 4, 24]);
      expect(many.sample_job?.queue).toBe(queues[1]);
      return many;
    };
    const before = await check();
    await fold(engine);
    expect(await check()).toEqual(before);
  });

  test("GET /v1/dlq/groups tells errors in JSON apart by what they say", async ({ service }) => {
    await failWith(service, await service.queue(), [
      'The handler answered 500: {"error":"user 7 not found","user":"ada"}',
      'The handler answered 500: {"error":"user 12345 not found","user":"alan"}',
      'The handler answered 500: {"code":"card_declined","id":"ch_1Nx"}',
      `The handler answered 500: {"message":"${"a stack without an end ".repeat(20)}`,
    ]);
    const found = await groupsOf(service);
    expect(found.map(({ count, error }) => [count, error.message.slice(0, 60)]).sort()).toEqual([
      [1, "The handler answered #: {code: card_declined,…:…}"],
      [1, "The handler answered #: {message: a stack without an end a s"],
      [2, "The handler answered #: {error: user # not found,…:…}"],
    ]);
  });

  test("GET /v1/dlq/groups tells handlers apart by code, status and host", async ({ service }) => {
    const handler = await service.handler({ answers: ({ body }) => Number(body.payload), defaultJobOptions: { attempts: 1 } });
    const other = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
    for (const payload of [500, 500, 503]) await service.enqueue({ queue: handler.queue, payload });
    await service.enqueue({ queue: other.queue });
    await until(async () => sum((await groupsOf(service)).map(({ count }) => count)) === 4);
    const found = await groupsOf(service);
    const hostOf = (url: string) => new URL(url).host;
    expect(found.map(({ count, error }) => [count, error.code, error.status, error.host]).sort()).toEqual(
      [
        [1, "HTTP_STATUS", 500, hostOf(other.url)],
        [1, "HTTP_STATUS", 503, hostOf(handler.url)],
        [2, "HTTP_STATUS", 500, hostOf(handler.url)],
      ].sort(),
    );
  });

  test("a group keeps the host that failed when the queue's address is changed", async ({ service, engine }) => {
    const handler = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
    await service.enqueue({ queue: handler.queue });
    await until(async () => (await groupsOf(service)).length === 1);
    const before = await groupsOf(service);
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { callback_url: "http://127.0.0.1:9/" });
    expect(await groupsOf(service)).toEqual(before);
    await fold(engine);
    expect(await groupsOf(service)).toEqual(before);
    expect(before[0]?.error.host).toBe(new URL(handler.url).host);
  });

  test("a group counts what leaves the dead-letter queue in any way, and is gone with its last job", async ({ service, engine }) => {
    const queue = await service.queue();
    await failWith(service, queue, Array(12).fill("It broke."));
    const left = async () => (await groupsOf(service))[0]?.count ?? 0;
    const { data } = await service.ok("GET", "/v1/dlq");
    await service.ok("POST", `/v1/queues/${queue}/jobs/${data[0].id}/retry`);
    expect(await left()).toBe(11);
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${data[1].id}`);
    expect(await left()).toBe(10);
    await fold(engine);
    const started = await service.ok("POST", "/v1/jobs/remove", { ids: [data[2].id, data[3].id] });
    await until(async () => (await service.ok("GET", `/v1/operations/${started.id}`)).state === "completed");
    expect(await left()).toBe(8);
    await failAll(service, queue, () => "It broke.");
    expect(await left()).toBe(9);
    const [group] = await groupsOf(service);
    expect((await service.ok("POST", "/v1/dlq/purge", { fingerprint: group?.fingerprint })).purged).toBe(9);
    expect(await groupsOf(service)).toEqual([]);
    await fold(engine);
    expect(await groupsOf(service)).toEqual([]);
    const lane = await laneOf(service, queue);
    const [drift] = await service.database.query<{ n: number }>(
      "select coalesce(sum(jobs), 0)::int as n from dead_letter_group where workspace_id = $1",
      [lane.workspaceId],
    );
    expect(drift?.n).toBe(0);
  });

  test("a group that was empty for days, and is swept while a job joins it, keeps its code and message", async ({ service, engine }) => {
    const queue = await service.queue();
    await failWith(service, queue, ["It broke."]);
    const [before] = await groupsOf(service);
    await service.ok("POST", "/v1/dlq/purge", {});
    await fold(engine);
    await service.advance(2 * 86_400);
    await failWith(service, queue, ["It broke."]);
    await sweepGroupsAcrossWorkspaces(engine);
    await fold(engine);
    expect(await groupsOf(service)).toMatchObject([{ fingerprint: before?.fingerprint, error: before?.error, count: 1 }]);
  });

  test("a group that is swept while a job is counted for it keeps its code and message", async ({ service, engine }) => {
    const queue = await service.queue();
    await failWith(service, queue, ["It broke."]);
    const [before] = await groupsOf(service);
    await service.ok("POST", "/v1/dlq/purge", {});
    await fold(engine);
    await failWith(service, queue, ["It broke."]);
    const { workspaceId } = await laneOf(service, queue);
    const sweep = hold(engine, sql`delete from dead_letter_group where workspace_id = ${workspaceId} and jobs <= 0`);
    await sweep.held;
    const folded = fold(engine);
    await sweep.untilWaiting(1);
    await sweep.release();
    await folded;
    expect(await groupsOf(service)).toMatchObject([{ fingerprint: before?.fingerprint, error: before?.error, count: 1 }]);
  });

  test("a group whose first job leaves before it was counted keeps its code and message", async ({ service, engine }) => {
    const queue = await service.queue();
    await failWith(service, queue, ["It broke."]);
    const [before] = await groupsOf(service);
    const first = hold(
      engine,
      sql`select from dead_letter_delta where workspace_id = ${(await laneOf(service, queue)).workspaceId} for update`,
    );
    await first.held;
    await service.ok("POST", "/v1/dlq/purge", {});
    await fold(engine);
    await first.release();
    await fold(engine);
    expect(await groupsOf(service)).toEqual([]);
    await failWith(service, queue, ["It broke."]);
    await fold(engine);
    expect(await groupsOf(service)).toMatchObject([{ fingerprint: before?.fingerprint, error: before?.error, count: 1 }]);
  });

  test("groups are counted while jobs are counted anew, which may take minutes", async ({ service, database, engine }) => {
    const queue = await service.queue();
    await failWith(service, queue, ["It broke."]);
    const { workspaceId } = await laneOf(service, queue);
    const recount = hold(engine, sql`select recount_jobs(${workspaceId}::uuid)`);
    await recount.held;
    await fold(engine);
    expect(await database.query("select jobs::int from dead_letter_group where workspace_id = $1", [workspaceId])).toEqual([{ jobs: 1 }]);
    await recount.release();
  });

  test("a fingerprint filters the dead-letter queue, its retry and its purge, and the jobs of all queues", async ({ service }) => {
    const queue = await service.queue();
    await failWith(service, queue, ["Out of memory", "No route to host 1", "No route to host 2", "No route to host 3"]);
    const [memory, route] = (await groupsOf(service)).sort((a, b) => a.count - b.count) as [Group, Group];
    const messages = async (path: string) =>
      (await service.ok("GET", path)).data.map(({ last_error }: { last_error: { message: string } }) => last_error.message);
    expect(await messages(`/v1/dlq?fingerprint=${memory.fingerprint}`)).toEqual(["Out of memory"]);
    expect(await messages(`/v1/jobs?fingerprint=${route.fingerprint}`)).toEqual([
      "No route to host 3",
      "No route to host 2",
      "No route to host 1",
    ]);
    expect(await service.ok("GET", `/v1/jobs/count?fingerprint=${route.fingerprint}`)).toEqual({ count: 3, exact: true });
    expect(await messages(`/v1/dlq?fingerprint=0000000000000000`)).toEqual([]);
    expect(await service.ok("POST", "/v1/dlq/retry", { fingerprint: route.fingerprint, queue: "QUEUE".replace("QUEUE", queue) })).toEqual({
      retried: 3,
    });
    expect((await groupsOf(service)).map(({ fingerprint }) => fingerprint)).toEqual([memory.fingerprint]);
    expect(await service.ok("POST", "/v1/dlq/purge", { fingerprint: route.fingerprint })).toEqual({ purged: 0 });
    expect(await service.ok("POST", "/v1/dlq/purge", { fingerprint: memory.fingerprint })).toEqual({ purged: 1 });
  });

  test("groups come page by page, the one that a job joined last first, and no other workspace sees them", async ({
    service,
    node,
    database,
    clock,
    engine,
  }) => {
    const queue = await service.queue();
    for (const message of ["alpha", "beta", "gamma", "delta", "epsilon"]) {
      await failWith(service, queue, [message]);
      await service.advance(3_600);
      if (message === "gamma") await fold(engine);
    }
    const found: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: { data: Group[]; next_cursor: string | null } = await service.ok(
        "GET",
        `/v1/dlq/groups?limit=2${cursor && `&cursor=${cursor}`}`,
      );
      found.push(...page.data.map(({ error }) => error.message));
      cursor = page.next_cursor;
    }
    expect(found).toEqual(["epsilon", "delta", "gamma", "beta", "alpha"]);
    const [newest] = await groupsOf(service, "?limit=1");
    expect(newest?.trend.slice(-3)).toEqual([0, 1, 0]);
    const other = new Service(node, database, clock, await newWorkspace(database));
    expect(await groupsOf(other)).toEqual([]);
  });

  test("a workspace has a limited number of groups: beyond, jobs are grouped by their error code", async ({
    service,
    database,
    engine,
  }) => {
    const queue = await service.queue();
    const lane = await laneOf(service, queue);
    await database.query(
      `insert into dead_letter_group (workspace_id, fingerprint, code, message, jobs, lanes, first_seen_at, last_seen_at)
       select $1, lpad(to_hex(n), 16, '0'), 'TIMEOUT', n::text, 1, '{}', moment() - interval '1 day', moment() - interval '1 day' from generate_series(1, 1000) n`,
      [lane.workspaceId],
    );
    await failWith(service, queue, ["one way", "another way", "a third way"]);
    const rest = (await groupsOf(service, "?limit=1"))[0];
    expect(rest).toMatchObject({ count: 3, error: { code: "WORKER_FAILED", host: null, message: "(other messages)" } });
    await fold(engine);
    expect((await groupsOf(service, "?limit=1"))[0]).toEqual(rest);
    expect((await service.ok("GET", `/v1/dlq?fingerprint=${rest?.fingerprint}`)).data).toHaveLength(3);
  });
});

describe("the message of a group", () => {
  test.for([
    ["The handler responded with 500.", "The handler responded with #."],
    ["No response within 30000 ms", "No response within # ms"],
    ["user 6f1c0a9b-3e7d-4468-9b1e-0c2d4f6a8b1c is gone", "user # is gone"],
    ["job job_01kajv3k4ve6nsd9z5kgtzx0rw failed", "job # failed"],
    ["0xDEADBEEF at deadbeefcafe", "# at #"],
    ["getaddrinfo ENOTFOUND api.example.com", "getaddrinfo ENOTFOUND …"],
    ["connect ECONNREFUSED 127.0.0.1:9 and [::1]:80", "connect ECONNREFUSED # and [::#]:#"],
    ["GET https://u:p@h.example.com:8080/a?b=1#c failed", "GET … failed"],
    ["relation “users” or `orders` or 'x' is missing", "relation … or … or … is missing"],
    ["obj.prop is undefined", "obj.prop is undefined"],
    ["  many \n\t spaces  ", "many spaces"],
    ["", ""],
  ])("the message of a group says %j as %j", async ([message, normal], { database }) => {
    const [found] = await database.query<{ text: string }>("select normalize_error($1) as text", [message]);
    expect(found?.text).toBe(normal);
  });

  test("the message of a group is found in a time that does not depend on what the message says", async ({ database }) => {
    const hostile = [
      "a".repeat(100_000),
      "a.".repeat(50_000),
      '"'.repeat(99_999),
      "a-".repeat(50_000),
      "http".repeat(25_000),
      "1.".repeat(50_000),
    ];
    const found = await database.query<{ length: number }>(
      "select max(length(normalize_error(message)))::int as length from unnest($1::text[]) message, generate_series(1, 20)",
      [hostile],
    );
    expect(found[0]?.length).toBeLessThanOrEqual(200);
  });
});
