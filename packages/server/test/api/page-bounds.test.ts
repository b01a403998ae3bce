import { randomBytes } from "node:crypto";
import { describe, expect } from "vitest";
import { openNumber, sealNumber } from "#http";
import { cutPage, type JobId, type PageRow, type RunId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { listPending } from "../../src/approvals/list.ts";
import { listAuditEvents } from "../../src/audit/list.ts";
import { listFailed } from "../../src/dead-letters/store.ts";
import { listJobs } from "../../src/jobs/list.ts";
import { listQueues } from "../../src/queues/store.ts";
import { listSchedules } from "../../src/schedules/list.ts";
import { listDeliveries } from "../../src/webhooks/delivery-store.ts";
import { listRuns, type RunsPage } from "../../src/workflows/runs/list-runs.ts";
import { laneOf, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { schedule } from "../harness/schedules.ts";
import type { Service } from "../harness/service.ts";
import { putDeliveries, putWebhook } from "../harness/webhook-rows.ts";

const MIB = 1024 * 1024;

/** Reads all pages of a list. Returns the records of each. */
async function pagesOf<Key, Row>(
  limit: number,
  list: (before: Key | null) => Promise<(Row & PageRow<Key>)[]>,
  keyOf: (row: Row) => Key,
): Promise<Row[][]> {
  const pages: Row[][] = [];
  for (let before: Key | null = null; ; ) {
    const { records, next }: { records: Row[]; next: Key | null } = cutPage<Key, Row & PageRow<Key>>(await list(before), limit, keyOf);
    pages.push(records);
    if (next === null) return pages;
    before = next;
    if (pages.length > 1_000) throw new Error("The pages do not end.");
  }
}

/** A queue with 60 jobs in several states, live and finished; every 20th has tag "rare". Their ids, newest first. */
async function mixed(service: Service): Promise<{ lane: LaneKey; rare: string[]; failed: string[] }> {
  const lane = await laneOf(service, await service.queue());
  const [rare, failed]: [string[], string[]] = [[], []];
  for (let index = 0; index < 60; index += 1) {
    const state = (["waiting", "completed", "failed", "cancelled", "delayed"] as const)[index % 5] ?? "waiting";
    const [id = ""] = await putJobs(service.database, lane, {
      state,
      tag: index % 20 === 7 ? "rare" : "common",
      runAt: "moment() + interval '1 hour'",
    });
    if (index % 20 === 7) rare.unshift(id);
    if (state === "failed") failed.unshift(id);
  }
  return { lane, rare, failed };
}

/** A workflow with 30 runs in several states, beside one with 10 others. Their ids, newest first. */
async function mixedRuns(service: Service): Promise<{ lane: LaneKey; other: LaneKey; all: string[]; failed: string[]; ofLane: string[] }> {
  const [lane, other] = [await laneOf(service, await service.queue()), await laneOf(service, await service.queue())];
  const inserted = await service.database.query<{ id: string; status: string; lane_id: number }>(
    `insert into run (workspace_id, lane_id, id, status, attempts, input, trigger, created_at, ended_at, expires_at)
     select $1, case when n % 4 = 3 then $3::bigint else $2 end, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, s.status, 1, '1',
       '{"type":"api"}', moment(), case when s.status <> 'pending' then moment() end, case when s.status <> 'pending' then moment() end
     from generate_series(1, 40) n, lateral (select case when n % 10 = 5 then 'failed' else 'pending' end::run_status as status) s
     returning id, status, lane_id`,
    [lane.workspaceId, lane.laneId, other.laneId],
  );
  const newest = inserted.sort((a, b) => (a.id < b.id ? 1 : -1));
  const idsOf = (some: typeof newest) => some.map(({ id }) => id);
  return {
    lane,
    other,
    all: idsOf(newest),
    failed: idsOf(newest.filter(({ status }) => status === "failed")),
    ofLane: idsOf(newest.filter(({ lane_id }) => Number(lane_id) === lane.laneId)),
  };
}

describe("a list of runs", () => {
  test.for([
    [1, 2],
    [2, 5],
    [100, 7],
    [100, 1_000],
  ])(
    "goes on behind each scan without holes or repeats: %i to a page, %i rows to a scan",
    async ([limit = 1, maxScanned = 1], { service, engine }) => {
      const { lane, other, all, failed, ofLane } = await mixedRuns(service);
      const ids = async (filter: Partial<Pick<RunsPage, "statuses" | "laneId">>) => {
        const list = (before: RunId | null) =>
          listRuns(engine, {
            workspaceId: lane.workspaceId,
            statuses: null,
            laneId: null,
            ...filter,
            before,
            limit: limit + 1,
            maxScanned,
          });
        return (await pagesOf(limit, list, ({ id }) => id)).flat().map(({ id }) => id as string);
      };
      expect(await ids({})).toEqual(all);
      expect(await ids({ statuses: ["failed"] })).toEqual(failed);
      expect(await ids({ statuses: ["failed", "pending"] })).toEqual(all);
      expect(await ids({ laneId: lane.laneId })).toEqual(ofLane);
      expect(await ids({ laneId: lane.laneId, statuses: ["failed"] })).toEqual(failed.filter((id) => ofLane.includes(id)));
      await service.database.query("update lane set deleted_at = moment() where id = $1", [other.laneId]);
      expect(await ids({})).toEqual(ofLane);
    },
  );

  test("reads at most as many rows as a scan has, whatever matches", async ({ service, engine }) => {
    const { lane } = await mixedRuns(service);
    const found = await listRuns(engine, {
      workspaceId: lane.workspaceId,
      laneId: lane.laneId,
      statuses: ["running"],
      before: null,
      limit: 10,
      maxScanned: 4,
    });
    expect(found).toMatchObject([{ found: null, reached: expect.any(String) }]);
  });
});

describe("a list of deliveries", () => {
  test("goes on behind each scan, which reads a limited number of rows whatever matches", async ({ engine, database }) => {
    const lane = await putWebhook(database);
    const made = await putDeliveries(engine, database, lane, 12);
    const delivered = made.filter((_, at) => at % 4 === 0).reverse();
    await database.query("update webhook_delivery set state = 'delivered', ended_at = moment() where id = any($1::uuid[])", [delivered]);
    const page = { ...lane, states: ["delivered"], types: null, limit: 11, maxScanned: 5 };
    const list = (before: JobId | null) => listDeliveries(engine, { ...page, before });
    expect((await pagesOf(10, list, ({ id }) => id)).flat().map(({ id }) => id)).toEqual(delivered);
    expect(await list(null)).toMatchObject([{ id: delivered[0], reached: made[7] }]);
  });
});

describe("a list that reads many rows for few records", () => {
  test.for([
    [1, 2],
    [2, 4],
    [3, 7],
    [100, 20],
    [100, 1_000],
  ])(
    "a list of jobs goes on behind each scan without holes or repeats: %i to a page, %i rows to a scan",
    async ([limit, maxScanned], { service, engine }) => {
      const { lane, rare, failed } = await mixed(service);
      const ids = async (filter: { states?: "failed"[] | ("waiting" | "completed" | "failed")[]; tags?: string[] }) => {
        const pages = await pagesOf(
          limit as number,
          (before: JobId | null) =>
            listJobs(engine, {
              ...lane,
              states: filter.states ?? null,
              tags: filter.tags ?? null,
              before,
              limit: (limit as number) + 1,
              maxScanned: maxScanned as number,
            }),
          ({ id }) => id,
        );
        for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit as number);
        return pages.flat().map(({ id }) => id as string);
      };
      const every = await ids({});
      expect([every.length, every.toSorted().reverse()]).toEqual([60, every]);
      expect(await ids({ tags: ["rare"] })).toEqual(rare);
      expect(await ids({ tags: ["rare", "absent", "common", "rare"] })).toEqual(every);
      expect(await ids({ states: ["failed"] })).toEqual(failed);
      expect(await ids({ states: ["failed"], tags: ["rare"] })).toEqual(rare.filter((id) => failed.includes(id)));
      const some = await ids({ states: ["waiting", "completed", "failed"] });
      expect(some).toEqual(every.filter((id) => some.includes(id)));
      expect(some).toHaveLength(36);
      expect(await ids({ states: ["waiting", "completed", "failed"], tags: ["rare"] })).toEqual(rare.filter((id) => some.includes(id)));
    },
  );

  test("a page of jobs without a match says how far its scan came", async ({ service, engine }) => {
    const { lane, rare } = await mixed(service);
    const find = (maxScanned: number) =>
      listFailed(engine, { ...lane, queues: null, tags: ["absent"], errors: null, before: null, limit: 51, maxScanned });
    expect(await find(5)).toMatchObject([{ found: null, reached: expect.any(String) }]);
    expect(await find(1_000)).toMatchObject([{ found: null, reached: null }]);
    expect(rare).toHaveLength(3);
  });

  test.for([1, 3, 100])("dead letters go on behind each scan of %i rows", async (maxScanned, { service, engine }) => {
    const { lane, rare, failed } = await mixed(service);
    const list = async (tags: string[] | null) => {
      const query = { ...lane, queues: null, tags, errors: null, limit: 3, maxScanned: maxScanned as number };
      const pages = await pagesOf(
        2,
        (before: JobId | null) => listFailed(engine, { ...query, before }),
        ({ id }) => id,
      );
      return pages.flat().map(({ id }) => id as string);
    };
    expect(await list(null)).toEqual(failed);
    expect(await list(["rare"])).toEqual(rare.filter((id) => failed.includes(id)));
  });

  test("jobs that wait for a decision go on behind each scan", async ({ service, engine }) => {
    const lane = await laneOf(service, await service.queue());
    const expected: string[] = [];
    for (let index = 0; index < 20; index += 1) {
      const [id = ""] = await putJobs(service.database, lane, { state: "pending_approval", tag: index % 9 === 0 ? "rare" : "common" });
      if (index % 9 === 0) expected.unshift(id);
    }
    const pages = await pagesOf(
      2,
      (before: JobId | null) => listPending(engine, { ...lane, queues: null, tags: ["rare"], before, limit: 3, maxScanned: 4 }),
      ({ id }) => id,
    );
    expect(pages.flat().map(({ id }) => id as string)).toEqual(expected);
    expect(pages.length).toBeGreaterThan(4);
  });

  test("schedules go on behind each scan, those of some queues too", async ({ service, engine }) => {
    const [queue, other] = [await service.queue(), await service.queue()];
    const paused: string[] = [];
    for (let index = 0; index < 12; index += 1) {
      const { name } = await schedule(service, { queue: index % 2 === 0 ? queue : other });
      if (index % 4 !== 0) continue;
      await service.ok("PATCH", `/v1/schedules/${name}/pause`);
      paused.unshift(name);
    }
    const { workspaceId } = await laneOf(service, queue);
    for (const queues of [null, [queue], [queue, other, "absent"]]) {
      const pages = await pagesOf(
        2,
        (before: number | null) => listSchedules(engine, { workspaceId, queues, states: ["paused"], before, limit: 3, maxScanned: 3 }),
        ({ id }) => id as number,
      );
      expect(pages.flat().map(({ name }) => name)).toEqual(paused);
    }
  });

  test("audit events go on behind each scan, by type and by actor too", async ({ service, engine }) => {
    const queues: string[] = [];
    for (let index = 0; index < 6; index += 1) {
      const queue = await service.queue();
      queues.unshift(queue);
      await service.ok("PATCH", `/v1/queues/${queue}`, { paused: true });
    }
    const { workspaceId } = await laneOf(service, queues[0] as string);
    const [{ actor_id: actor }] = (await service.ok("GET", "/v1/audit-events?event_type=queue.created")).data;
    const every = { eventTypes: null, resourceTypes: null, actorIds: null, from: null, to: null };
    const filters = [
      [{ eventTypes: ["queue.created"], resourceTypes: ["queue"] }, queues],
      [{ actorIds: [actor], resourceTypes: ["queue"] }, queues.flatMap((queue) => [queue, queue])],
      [{ eventTypes: ["queue.created", "queue.updated"], actorIds: [actor] }, queues.flatMap((queue) => [queue, queue])],
      [{ resourceTypes: ["schedule"] }, []],
      [{}, null],
    ] as const;
    for (const [filter, expected] of filters) {
      const pages = await pagesOf(
        2,
        (before: number | null) => listAuditEvents(engine, { workspaceId, ...every, ...filter, before, limit: 3, maxScanned: 4 }),
        ({ seq }) => seq,
      );
      const found = pages.flat().map(({ resource_id }) => resource_id ?? "");
      if (expected) expect(found).toEqual(expected);
      else expect(found.filter((one) => queues.includes(one))).toEqual(queues.flatMap((queue) => [queue, queue]));
    }
  });

  test("queues go on behind each scan of those that were deleted", async ({ service, engine }) => {
    const kept: string[] = [];
    for (let index = 0; index < 12; index += 1) {
      const queue = await service.queue();
      if (index % 5 === 0) kept.unshift(queue);
      else await service.ok("DELETE", `/v1/queues/${queue}`);
    }
    const { workspaceId } = await laneOf(service, kept[0] as string);
    const pages = await pagesOf(
      2,
      (before: LaneId | null) => listQueues(engine, { workspaceId, before, limit: 3, maxScanned: 3 }),
      ({ id }) => id,
    );
    expect(pages.flat().map(({ name }) => name)).toEqual(kept);
  });
});

describe("a page of large records", () => {
  /** Payloads that PostgreSQL cannot compress. */
  const enqueueLarge = async (service: Service, queue: string, sizes: readonly number[]): Promise<void> => {
    for (const size of sizes) await service.enqueue({ queue, payload: randomBytes(size / 2).toString("hex") });
  };
  const sizesOf = (reply: { data: { payload: string }[] }) => reply.data.map(({ payload }) => payload.length);

  test("a page of large records ends with 4 MiB of payloads and results, and the next one goes on there", async ({ service }) => {
    const queue = await service.queue();
    const large = MIB - 2;
    await enqueueLarge(service, queue, [100, large, large, large, large, large, 100]);
    const first = await service.ok("GET", `/v1/queues/${queue}/jobs`);
    expect(sizesOf(first)).toEqual([100, large, large, large]);
    const second = await service.ok("GET", `/v1/queues/${queue}/jobs?cursor=${first.next_cursor}`);
    expect([sizesOf(second), second.next_cursor]).toEqual([[large, large, 100], null]);
  });

  test("queues count with their headers", async ({ service }) => {
    const callback_headers = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`X-Header-${index}`, "x".repeat(4_000)]));
    const names: string[] = [];
    for (let index = 0; index < 24; index += 1)
      names.unshift(await service.queue({ callback_url: "https://example.com/", callback_headers }));
    const pages: string[][] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: { data: { name: string }[]; next_cursor: string | null } = await service.ok(
        "GET",
        `/v1/queues?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      pages.push(page.data.map(({ name }) => name));
      cursor = page.next_cursor;
    }
    expect(pages.flat()).toEqual(names);
    expect(pages.map(({ length }) => length)).toEqual([20, 4]);
  });

  test("a statement returns no more than fits on a page, and at least one record", async ({ service, engine }) => {
    const queue = await service.queue();
    const lane = await laneOf(service, queue);
    await putJobs(service.database, lane, { state: "failed", count: 3 });
    await service.database.query("update job set payload = to_json(repeat('x', 5 * 1024 * 1024))::text where state = 'failed'");
    const found = await listFailed(engine, { ...lane, queues: null, tags: null, errors: null, before: null, limit: 51 });
    expect(found).toMatchObject([{ found: 3 }]);
    const pages = await pagesOf(
      50,
      (before: JobId | null) => listFailed(engine, { ...lane, queues: null, tags: null, errors: null, before, limit: 51 }),
      ({ id }) => id,
    );
    expect(pages.map((page) => page.length)).toEqual([1, 1, 1]);
  });
});

describe("the cursor of a list of queues or schedules", () => {
  const key = Buffer.alloc(16, 7);

  test("the cursor of a list of queues or schedules opens with the key of its workspace alone, in its own list", () => {
    const cursor = sealNumber(key, "queues", 4_711);
    expect(openNumber(key, "queues", cursor)).toBe(4_711);
    expect(openNumber(key, "schedules", cursor)).toBeNull();
    expect(openNumber(Buffer.alloc(16, 8), "queues", cursor)).toBeNull();
    for (const text of ["", "2s", `${cursor}A`, "A".repeat(22), cursor.slice(1)]) expect(openNumber(key, "queues", text)).toBeNull();
  });

  test("the cursor of a list of queues or schedules does not show the number that it holds", () => {
    const cursors = [1, 2, 3].map((number) => Buffer.from(sealNumber(key, "queues", number), "base64url"));
    const shared = cursors[0]?.filter((byte, index) => cursors.every((cursor) => cursor[index] === byte)) ?? [];
    expect(shared.length).toBeLessThan(4);
  });

  test("each workspace has a key of its own", async ({ service }) => {
    await service.queue();
    const keys = await service.database.query("select distinct cursor_key from workspace");
    const [{ count }] = (await service.database.query<{ count: number }>("select count(*)::int as count from workspace")) as [
      { count: number },
    ];
    expect(keys).toHaveLength(count);
  });
});
