import pg from "pg";
import { describe, expect } from "vitest";
import { limitedTo, setLimits } from "../harness/limits.ts";
import { joinedBy } from "../harness/nodes.ts";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { type Service, test, until } from "../harness/service.ts";

const quotaOf = async (service: Service) => (await service.ok("GET", "/v1/status")).quota;
const batch = (service: Service, queue: string, count: number) =>
  service.api(
    "POST",
    `/v1/queues/${queue}/jobs/batch`,
    Array.from({ length: count }, (_, payload) => ({ payload })),
  );
const single = (service: Service, queue: string) => service.api("POST", `/v1/queues/${queue}/jobs`, { payload: 1 });
const storedJobs = async ({ database, key }: Service): Promise<number> =>
  (
    await database.query<{ n: number }>(
      "select count(*)::int as n from job_record where workspace_id = (select workspace_id from api_key where hash = sha256($1::text::bytea))",
      [key],
    )
  )[0]?.n ?? 0;

describe("a month's executions", () => {
  test("64 clients on two nodes get exactly as many as the limit allows", async ({ service, onTestFinished }) => {
    const limited = await limitedTo(service, { executions_per_month: 1_000 });
    const other = await joinedBy(limited);
    onTestFinished(() => other.node.stop());
    const queues = [await limited.queue(), await limited.queue()];
    let accepted = 0;
    const winners = new Set<Service>();
    const codes = new Set<string>();
    const client = async (number: number) => {
      const node = number % 2 === 0 ? limited : other;
      for (let round = 0; round < 24; round += 1) {
        const queue = queues[(number + round) % 2] as string;
        const size = (number + round) % 8 === 0 ? 7 : 1;
        const reply = await (size === 1 ? single(node, queue) : batch(node, queue, size));
        if (reply.status === 201) {
          accepted += size;
          winners.add(node);
        } else codes.add(`${reply.status} ${reply.body.error.code}`);
      }
    };
    await Promise.all(Array.from({ length: 64 }, (_, number) => client(number)));
    expect(codes).toEqual(new Set(["402 QUOTA_EXCEEDED"]));
    expect(winners.size).toBe(2);
    // Batches of seven may not fit where singles still do: those fill it up.
    while ((await single(limited, queues[0] as string)).status === 201) accepted += 1;
    expect([accepted, await storedJobs(limited)]).toEqual([1_000, 1_000]);
    expect(await quotaOf(limited)).toEqual({ used: 1_000, limit: 1_000, remaining: 0, resets_at: "2026-12-01T00:00:00.000Z" });
  });

  test("a month's executions that are used up are refused with what was used, and nothing is changed", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 3 }, "pro");
    const queue = await limited.queue();
    expect((await batch(limited, queue, 3)).status).toBe(201);
    const before = await everythingStored(service.database);
    for (const reply of [await single(limited, queue), await batch(limited, queue, 2)]) {
      expect([...faultsOf(reply, "QUOTA_EXCEEDED"), reply.body.error.details]).toEqual([
        { used: 3, limit: 3, plan: "pro", resets_at: "2026-12-01T00:00:00.000Z" },
      ]);
    }
    expect(await everythingStored(service.database)).toEqual(before);
    expect(await quotaOf(limited)).toMatchObject({ used: 3 });
  });

  test("a batch that would pass the limit is refused whole, and what fits is still taken", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 5 });
    const queue = await limited.queue();
    expect((await batch(limited, queue, 3)).status).toBe(201);
    const refused = await batch(limited, queue, 3);
    expect(refused.body.error.message).toBe(
      "This needs 3 executions. 3 of the month's 5 executions are used (plan team). The next month begins at 2026-12-01T00:00:00.000Z.",
    );
    expect([refused.status, refused.body.error.details]).toEqual([
      402,
      { used: 3, limit: 5, plan: "team", resets_at: "2026-12-01T00:00:00.000Z" },
    ]);
    expect((await batch(limited, queue, 2)).status).toBe(201);
    expect(await storedJobs(limited)).toBe(5);
  });

  test("a month's executions are not used by what is not accepted", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const queue = await limited.queue();
    expect((await single(limited, "absent")).status).toBe(404);
    expect((await limited.api("POST", `/v1/queues/${queue}/jobs`, {})).status).toBe(400);
    expect((await single(limited, queue)).status).toBe(201);
    // A queue that does not exist is still reported as such when no quota is left.
    expect((await single(limited, "absent")).status).toBe(404);
    expect((await single(limited, queue)).status).toBe(402);
  });

  test("a month's executions are used once, whatever becomes of the job", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 2 });
    const handler = await limited.handler({ answers: 500, defaultJobOptions: { attempts: 2 } });
    const failing = await limited.enqueue({ queue: handler.queue });
    await limited.untilIdle();
    await limited.ok("POST", `/v1/queues/${handler.queue}/jobs/${failing.id}/retry`);
    await limited.untilIdle();
    expect(handler.attempts).toEqual([1, 2, 3, 4]);
    const cancelled = await limited.enqueue({ queue: handler.queue, delay: 60 });
    await limited.ok("DELETE", `/v1/queues/${handler.queue}/jobs/${cancelled.id}`);
    await limited.ok("DELETE", `/v1/queues/${handler.queue}`);
    expect((await single(limited, await limited.queue())).status).toBe(402);
    expect(await quotaOf(limited)).toMatchObject({ used: 2, remaining: 0 });
    await limited.close();
  });

  test("a month's executions begin anew at midnight UTC of the month's first day", async ({ service, clock }) => {
    const limited = await limitedTo(service, { executions_per_month: 2 });
    const queue = await limited.queue();
    const now = clock.nowMs();
    try {
      await clock.set(Date.UTC(2026, 10, 30, 23, 59, 59, 999));
      expect((await batch(limited, queue, 2)).status).toBe(201);
      expect((await single(limited, queue)).status).toBe(402);
      expect(await quotaOf(limited)).toEqual({ used: 2, limit: 2, remaining: 0, resets_at: "2026-12-01T00:00:00.000Z" });
      await clock.set(Date.UTC(2026, 11, 1));
      expect(await quotaOf(limited)).toEqual({ used: 0, limit: 2, remaining: 2, resets_at: "2027-01-01T00:00:00.000Z" });
      expect((await single(limited, queue)).status).toBe(201);
      expect((await batch(limited, queue, 2)).status).toBe(402);
      expect((await single(limited, queue)).status).toBe(201);
      const [november, december] = [
        await limited.ok("GET", "/v1/usage?period=2026-11"),
        await limited.ok("GET", "/v1/usage?period=2026-12"),
      ];
      expect([november.executions, december.executions]).toMatchObject([
        { total: 2, remaining: 0 },
        { total: 2, remaining: 0 },
      ]);
    } finally {
      await clock.set(now);
    }
  });
});

test.for([
  ["soon after a change of limits", 0],
  ["at any other time", 61],
] as const)(
  "executions of a queue that is deleted while they are taken are released, %s",
  async ([, seconds], { service, database, clock }) => {
    const limited = await limitedTo(service, { executions_per_month: 2 });
    const [queue, kept] = [await limited.queue(), await limited.queue()];
    await clock.advance(seconds);
    await limited.enqueue({ queue: kept });
    const holder = new pg.Client({ connectionString: database.url, options: "-c search_path=tidemill" });
    await holder.connect();
    await holder.query("begin");
    // A request that takes executions has read the queue by now, and waits for this transaction.
    await holder.query(
      "select from quota_month where workspace_id = (select workspace_id from api_key where hash = sha256($1::text::bytea)) for update",
      [limited.key],
    );
    const enqueued = single(limited, queue);
    await until(async () => (await database.query("select from pg_locks where not granted")).length > 0, "the enqueue to wait");
    await limited.ok("DELETE", `/v1/queues/${queue}`);
    await holder.query("commit");
    await holder.end();
    expect((await enqueued).status).toBe(404);
    expect([(await single(limited, kept)).status, (await single(limited, kept)).status]).toEqual([201, 402]);
    expect(await quotaOf(limited)).toMatchObject({ used: 2 });
  },
);

test("what was accepted without a limit, and is seen only after one was set, is counted", async ({ service, database, clock }) => {
  const now = clock.nowMs();
  const limited = await limitedTo(service, { executions_per_month: 5 });
  const queue = await limited.queue();
  expect((await single(limited, queue)).status).toBe(201);
  // The state after an enqueue that began before the limit was set, and ended after the first enqueue within the limit.
  await database.query(
    "insert into usage_delta (workspace_id, lane_id, at, jobs) select workspace_id, id, moment(), 3 from lane where name = $1 and workspace_id = (select workspace_id from api_key where hash = sha256($2::text::bytea))",
    [queue, limited.key],
  );
  await clock.set(now + 59_000);
  expect([(await single(limited, queue)).status, (await single(limited, queue)).status]).toEqual([201, 402]);
  await clock.set(now);
});

describe("a limit that is new", () => {
  test("a limit that is new counts what was accepted in the month before it", async ({ service, clock }) => {
    const workspace = await limitedTo(service, {});
    const queue = await workspace.queue();
    expect((await batch(workspace, queue, 4)).status).toBe(201);
    await setLimits(workspace, { executions_per_month: 5 });
    await until(async () => (await batch(workspace, queue, 2)).status === 402, "the limit to hold");
    // Executions that were accepted before the node knew the limit are counted.
    const { used } = await quotaOf(workspace);
    expect([used, used >= 4]).toEqual([await storedJobs(workspace), true]);
    await setLimits(workspace, { executions_per_month: used + 2 });
    await until(async () => (await single(workspace, queue)).status === 201, "the limit to hold");
    await clock.advance(61);
    expect([(await single(workspace, queue)).status, (await single(workspace, queue)).status]).toEqual([201, 402]);
    expect(await storedJobs(workspace)).toBe(used + 2);
  });

  test("a limit that is new counts what was accepted while there was none in between", async ({ service, clock }) => {
    const workspace = await limitedTo(service, { executions_per_month: 10 });
    const queue = await workspace.queue();
    await clock.advance(61);
    expect((await batch(workspace, queue, 2)).status).toBe(201);
    await setLimits(workspace, {});
    await until(async () => (await batch(workspace, queue, 20)).status === 201, "the limit to be gone");
    await setLimits(workspace, { executions_per_month: 22 });
    // No executions are taken in the minute after the change.
    await clock.advance(61);
    await until(async () => (await single(workspace, queue)).status === 402, "the limit to hold");
    expect((await quotaOf(workspace)).used).toBe(await storedJobs(workspace));
  });
});

test("a workspace without a limit has no row that its requests would wait for", async ({ service }) => {
  const queue = await service.queue();
  expect((await batch(service, queue, 10)).status).toBe(201);
  expect(await quotaOf(service)).toEqual({ used: 10, limit: null, remaining: null, resets_at: "2026-12-01T00:00:00.000Z" });
  const rows = await service.database.query(
    "select from quota_month where workspace_id = (select workspace_id from api_key where hash = sha256($1::text::bytea))",
    [service.key],
  );
  expect(rows).toEqual([]);
});
