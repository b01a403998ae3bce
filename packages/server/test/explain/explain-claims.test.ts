import { GATES, type GateName } from "@tidemill/contract";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { showJobId } from "#jobs";
import type { JobId } from "#kernel";
import { ExplainFixture, test } from "../harness/explain-fixture.ts";

describe("a job that no gate holds is taken by a claim", () => {
  test("a job that no gate holds is taken by a claim, with the others of its queue", async ({ stage }) => {
    const ids = await stage.jobs({ count: 3 });
    expect(await stage.free(ids)).toEqual(ids);
    expect(await stage.taken()).toEqual(ids);
  });
});

/** How to close each gate for a job, and no other gate. Claims leave shares to the node. */
const CLOSED: { [Name in Exclude<GateName, "workspace_share" | "quota">]: (stage: ExplainFixture) => Promise<JobId> } = {
  state: (stage) => stage.job({ state: "failed" }),
  nodes: async (stage) => {
    const id = await stage.job();
    await stage.loseNodes();
    return id;
  },
  due: (stage) => stage.job({ state: "delayed", runAt: "moment() + interval '1 minute'" }),
  approval: (stage) => stage.job({ state: "pending_approval" }),
  queue_paused: async (stage) => {
    await stage.set("paused = true");
    return stage.job();
  },
  plan: async (stage) => {
    await stage.setPlan("free");
    return stage.job();
  },
  handler: async (stage) => {
    await stage.set("served = 'pull'");
    return stage.job();
  },
  circuit: async (stage) => {
    await stage.open(1);
    return stage.job();
  },
  key_concurrency: async (stage) => {
    await stage.job({ state: "active", key: "k" });
    return stage.job({ key: "k" });
  },
  queue_concurrency: async (stage) => {
    await stage.set("concurrency = 1");
    await stage.job({ state: "active" });
    return stage.job();
  },
  rate_limit: async (stage) => {
    await stage.set("rate_max = 1, rate_seconds = 60");
    await stage.started(1, 59);
    return stage.job();
  },
};

describe("a job that is held is taken by no claim, held by", () => {
  test.for(Object.keys(CLOSED) as (keyof typeof CLOSED)[])(
    "a job that a gate holds is taken by no claim, held by %s alone",
    async (gate, { stage }) => {
      const id = await CLOSED[gate](stage);
      expect(await stage.heldBy(id)).toEqual([gate]);
      expect(await stage.taken()).toEqual([]);
    },
  );

  test("a job that several gates hold is held by them in their order", async ({ stage }) => {
    await stage.set("paused = true, concurrency = 1, rate_max = 1, rate_seconds = 10");
    await stage.started(1);
    await stage.open(60);
    const active = showJobId(await stage.job({ state: "active", key: "k" }));
    const id = await stage.job({ state: "pending_approval", key: "k", runAt: "moment() + interval '1 hour'" });
    const held = ["due", "approval", "queue_paused", "circuit", "key_concurrency", "queue_concurrency", "rate_limit"];
    expect(await stage.explain(id)).toMatchObject({
      held_by: held,
      summary:
        "Not running: it is due in 1 h (2026-11-21T13:00:00.000Z), it has waited for approval since it was enqueued just now, the queue is paused, " +
        "the circuit is open (TIMEOUT) and the next probe goes out in 1 min (2026-11-21T12:01:00.000Z), " +
        `its concurrencyKey has 1 of 1 allowed jobs active (${active} has run for 1 s), ` +
        `the queue has 1 of 1 allowed jobs in flight (${active} has run for 1 s), ` +
        "and the queue has started 1 of 1 allowed attempts in the last 10 s and may start the next in 10 s.",
    });
    expect(await stage.taken()).toEqual([]);
  });
});

test("a job whose node was lost says so, and what becomes of it", async ({ stage }) => {
  const [active, delayed] = [await stage.job({ state: "active" }), await stage.job({ state: "delayed" })];
  expect(await stage.explain(active)).toMatchObject({ held_by: [], summary: "Running: attempt 1 of 3 started just now." });
  await stage.loseNodes();
  expect(await stage.explain(active)).toMatchObject({
    held_by: [],
    summary: expect.stringMatching(
      /^Attempt 1 of 3 started just now\. Its node was lost: the lease ended .*\. No node is alive\. The next node that starts takes the job back and starts it again\. The lost attempt does not count\.$/,
    ),
  });
  expect(await stage.explain(delayed)).toMatchObject({
    held_by: ["nodes", "due"],
    summary: "Not running: no node is alive, and it was due just now.",
    estimated_start: null,
  });
  await stage.world.startNode();
  expect((await stage.explain(active)).summary).toMatch(
    / A node takes the job back and starts it again\. The lost attempt does not count\.$/,
  );
});

test("without a node that answers, an explanation says nothing of a node's shares", async ({ stage }) => {
  const { gates } = await stage.explain(await stage.job());
  expect(gates.find(({ gate }) => gate === "workspace_share")?.message).toBe("Only nodes know what the workspace uses of them.");
});

describe("the border between what is let through and what is held", () => {
  test("the last job that a claim lets through and the first that is held are found by the queue's concurrency", async ({ stage }) => {
    await stage.set("concurrency = 5");
    await stage.jobs({ state: "active", count: 2 });
    const ids = await stage.jobs({ count: 5 });
    expect(await stage.free(ids)).toEqual(ids.slice(0, 3));
    expect(await stage.taken()).toEqual(ids.slice(0, 3));
    expect(await stage.heldBy(ids[3] as JobId)).toEqual(["queue_concurrency"]);
  });

  test("the last job that a claim lets through and the first that is held are found by the rate", async ({ stage }) => {
    await stage.set("rate_max = 4, rate_seconds = 60");
    await stage.started(7, 60);
    await stage.started(1, 59);
    const ids = await stage.jobs({ count: 5 });
    expect(await stage.free(ids)).toEqual(ids.slice(0, 3));
    expect(await stage.taken()).toEqual(ids.slice(0, 3));
    expect(await stage.heldBy(ids[3] as JobId)).toEqual(["rate_limit"]);
  });

  test("the last job that a claim lets through and the first that is held are found by both limits, each in its place", async ({
    stage,
  }) => {
    await stage.set("concurrency = 3, rate_max = 2, rate_seconds = 60");
    const ids = await stage.jobs({ count: 4 });
    expect(await Promise.all(ids.map((id) => stage.heldBy(id)))).toEqual([[], [], ["rate_limit"], ["rate_limit"]]);
    expect(await stage.taken()).toEqual(ids.slice(0, 2));
  });

  test("the last job that a claim lets through and the first that is held are found by priority before age", async ({ stage }) => {
    await stage.set("concurrency = 2");
    const old = await stage.job({ runAt: "moment() - interval '1 hour'" });
    const [urgent, urgentToo] = [
      await stage.job({ priority: 7 }),
      await stage.job({ priority: 7, runAt: "moment() - interval '1 second'" }),
    ];
    expect(await stage.heldBy(old)).toEqual(["queue_concurrency"]);
    expect(await stage.taken()).toEqual([urgent, urgentToo].sort());
    expect(await Promise.all([urgentToo, urgent, old].map(async (id) => (await stage.explain(id)).ahead))).toEqual([0, 1, 2]);
  });

  test("the last job that a claim lets through and the first that is held are found by a probe that is due: it takes one", async ({
    stage,
  }) => {
    await stage.open(0);
    const ids = await stage.jobs({ count: 2 });
    expect(await stage.free(ids)).toEqual(ids.slice(0, 1));
    expect(await stage.taken()).toEqual(ids.slice(0, 1));
  });

  test("the last job that a claim lets through and the first that is held are found by what a key may have at once, in the order of the key", async ({
    stage,
  }) => {
    await stage.set("concurrency_per_key = 3");
    await stage.job({ state: "active", key: "k" });
    const ids = await stage.jobs({ key: "k", count: 4 });
    expect(await stage.free(ids)).toEqual(ids.slice(0, 2));
    const urgent = await stage.job({ key: "k", priority: 1 });
    expect(await stage.free([...ids, urgent])).toEqual([ids[0], urgent]);
    expect(await stage.taken()).toEqual([ids[0], urgent].sort());
  });

  test("the last job that a claim lets through and the first that is held are found beyond the jobs ahead that are counted, when a limit lies there", async ({
    stage,
  }) => {
    await stage.set("concurrency = 10050, rate_max = 20000, rate_seconds = 1");
    const ids = await stage.jobs({ count: 10_052 });
    const taken = await stage.taken();
    expect(taken).toEqual(ids.slice(0, 10_050));
    expect(await stage.heldBy(ids[10_049] as JobId)).toEqual([]);
    expect(await stage.explain(ids[10_050] as JobId)).toMatchObject({
      held_by: ["queue_concurrency"],
      ahead: 10_050,
      ahead_is_more: false,
    });
  });
});

describe("what goes before a job is counted", () => {
  test("a job that is not decided counts what goes before it as if it were approved now: behind all that is due", async ({ stage }) => {
    await stage.jobs({ count: 2, runAt: "moment() - interval '1 second'" });
    const id = await stage.job({ state: "pending_approval", runAt: "moment() - interval '1 hour'" });
    expect((await stage.explain(id)).ahead).toBe(2);
  });

  test("a job that is delayed counts what goes before it as if it were due now: by the moment for which it is", async ({ stage }) => {
    await stage.set("concurrency_per_key = 2");
    await stage.job({ state: "active", key: "k" });
    const early = await stage.job({ state: "delayed", key: "k", runAt: "moment() - interval '2 seconds'" });
    await stage.job({ key: "k", runAt: "moment() - interval '1 second'" });
    const late = await stage.job({ state: "delayed", key: "k" });
    expect(await stage.explain(early)).toMatchObject({ ahead: 0, held_by: ["due"] });
    expect(await stage.explain(late)).toMatchObject({ ahead: 1, held_by: ["due", "key_concurrency"] });
  });

  test("a job that nothing holds counts what goes before it", async ({ stage }) => {
    const ids = await stage.jobs({ count: 2 });
    expect(await Promise.all(ids.map(async (id) => (await stage.explain(id)).summary))).toEqual([
      "Next in line: it starts as soon as a node has room.",
      "Waiting in line behind 1 job.",
    ]);
  });

  test("what goes before a job is counted in the queue up to 10,000, and says that there is more", async ({ stage }) => {
    const ids = await stage.jobs({ count: 10_002 });
    const [exact, more] = [await stage.explain(ids[10_000] as JobId), await stage.explain(ids[10_001] as JobId)];
    expect(exact).toMatchObject({ ahead: 10_000, ahead_is_more: false });
    expect(more).toMatchObject({ ahead: 10_000, ahead_is_more: true, summary: "Waiting in line behind more than 10000 jobs." });
  });

  test("what goes before a job is counted in its key up to 10,000", async ({ stage }) => {
    const ids = await stage.jobs({ key: "k", count: 10_002 });
    expect((await stage.explain(ids[10_001] as JobId)).gates[GATES.indexOf("key_concurrency")]).toMatchObject({
      message: "Its concurrencyKey has 0 of 1 allowed jobs active and more than 10000 jobs ahead of it.",
      figures: { ahead: 10_000, ahead_is_more: true },
    });
  });
});

test("a job that was approved is held by that no more, and says so", async ({ stage, database }) => {
  const id = await stage.job();
  await database.query("update job set approval = $2 where id = $1", [id, JSON.stringify({ decision: "approved" })]);
  const { held_by, gates } = await stage.explain(id);
  expect([held_by, gates[GATES.indexOf("approval")]]).toMatchObject([
    [],
    { message: "It was approved.", figures: { decision: "approved" } },
  ]);
});

describe("what parks beside does not stand ahead", () => {
  test("jobs that wait for their key, or are delayed, not decided or active, do not go before a job", async ({ stage }) => {
    await stage.jobs({ key: "k", count: 3 });
    for (const state of ["delayed", "pending_approval", "active", "failed", "completed"] as const) await stage.job({ state });
    const id = await stage.job();
    expect(await stage.explain(id)).toMatchObject({ held_by: [], ahead: 1 });
  });

  test("jobs of another queue, or of another key, do not go before a job", async ({ stage, database, engine, clock }) => {
    const other = await ExplainFixture.put(database, engine, clock);
    await other.jobs({ key: "k", count: 3 });
    await stage.jobs({ key: "l", count: 3 });
    await stage.job({ state: "active", key: "k" });
    const { ahead, gates } = await stage.explain(await stage.job({ key: "k" }));
    expect([ahead, gates.find(({ gate }) => gate === "key_concurrency")?.figures]).toMatchObject([1, { active: 1, ahead: 0 }]);
  });
});

const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 2 });
const seed = fc.record({
  state: fc.constantFrom("waiting", "waiting", "waiting", "active", "delayed", "pending_approval", "failed", "completed"),
  key: maybe(fc.constantFrom("a", "b")),
  priority: fc.constantFrom(0, 0, 1, -1),
  secondsAgo: fc.integer({ min: -2, max: 2 }),
});
const condition = fc.record({
  seeds: fc.array(seed, { minLength: 1, maxLength: 12 }),
  concurrency: maybe(fc.integer({ min: 1, max: 8 })),
  perKey: fc.integer({ min: 1, max: 3 }),
  rate: maybe(
    fc.record({
      max: fc.integer({ min: 1, max: 6 }),
      started: fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.nat(70)), { maxLength: 3 }),
    }),
  ),
  circuit: fc.option(fc.constantFrom(0, 5), { freq: 1 }),
  closed: fc.constantFrom(null, null, null, null, "paused = true", "served = 'pull'", "served = 'none'"),
});

test("the jobs that no gate holds are those that a claim takes, and the active ones, in any condition", async ({
  database,
  engine,
  clock,
}) => {
  await fc.assert(
    fc.asyncProperty(condition, async ({ seeds, concurrency, perKey, rate, circuit, closed }) => {
      const stage = await ExplainFixture.put(database, engine, clock);
      await stage.set(
        `concurrency = ${concurrency}, concurrency_per_key = ${perKey}, rate_max = ${rate?.max ?? null}, rate_seconds = ${rate && 60}`,
      );
      if (closed) await stage.set(closed);
      for (const [jobs, secondsAgo] of rate?.started.toSorted(([, a], [, b]) => b - a) ?? []) await stage.started(jobs, secondsAgo);
      if (circuit !== null) await stage.open(circuit);
      const ids: JobId[] = [];
      const active: JobId[] = [];
      // Active jobs first: a limit may have been lowered below their number, and then holds all other jobs.
      for (const { secondsAgo, ...seed } of seeds.toSorted((a, b) => Number(b.state === "active") - Number(a.state === "active"))) {
        const id = await stage.job({ ...seed, runAt: `moment() - ${secondsAgo} * interval '1 second'` });
        (seed.state === "active" ? active : ids).push(id);
      }
      expect((await stage.free(ids)).sort()).toEqual(await stage.taken());
      expect(await stage.free(active)).toEqual(active);
    }),
    { numRuns: 60 },
  );
});
