import type { Run, TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import type { Client } from "../harness/client.ts";
import type { Wire } from "../harness/database-wire.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";
import { isClaim, isCompletionOfRuns, isEnqueue, isSettle, isSettleOfRun, isStepReport } from "../harness/statements.ts";

// The connection to the database breaks after a commit and before its answer: the node cannot know what was carried out.
describe("an answer of the database that is lost", () => {
  test("jobs reach their handler all the same when the database's answer to a claim is lost", async ({ stage }) => {
    const database = await stage.database();
    const wire = await stage.wire(database);
    const { client } = await stage.node({ DATABASE_URL: wire.url(), TIDEMILL_NODE_LEASE_SECONDS: "2" });
    const handler = await stage.handler();
    const queue = await client.queue("mails", handler.url);
    const cut = wire.cutResponse(isClaim(5));
    const ids = await client.enqueueMany(queue, 5);
    await cut;

    await until(async () => (await client.states(queue)).completed === 5, "the jobs to complete");
    expect(handler.received.map(({ body }) => body.id).toSorted()).toEqual(ids.toSorted());
    for (const id of ids) {
      const { attempt, attempts_log: log } = await client.job(queue, id);
      expect(log.map((entry: { attempt: number }) => entry.attempt)).toEqual(Array.from({ length: attempt }, (_, n) => n + 1));
    }
  });

  test("a caller is told 503 when the database's answer to an enqueue is lost, and no job stays behind that nobody delivers", async ({
    stage,
  }) => {
    const database = await stage.database();
    const wire = await stage.wire(database);
    const { client } = await stage.node({ DATABASE_URL: wire.url(), TIDEMILL_NODE_LEASE_SECONDS: "2" });
    const handler = await stage.handler();
    const queue = await client.queue("mails", handler.url);
    const cut = wire.cutResponse(isEnqueue);
    expect(await client.api("POST", `/v1/queues/${queue}/jobs`, { payload: 1 })).toMatchObject({
      status: 503,
      body: { error: { code: "UNAVAILABLE" } },
    });
    await cut;

    await until(async () => (await database.query("select from job")).length === 0, "the job to be delivered, or gone");
    expect((await client.states(queue)).completed).toBe(handler.received.length);
  });

  test("a job is settled once when the database's answer to a settle is lost", async ({ stage }) => {
    const database = await stage.database();
    const wire = await stage.wire(database);
    const node = await stage.node({ DATABASE_URL: wire.url() });
    const handler = await stage.handler([500, 200]);
    const queue = await node.client.queue("mails", handler.url, { defaultJobOptions: { backoff: { type: "exponential", delay: 20 } } });
    const job = await node.client.enqueue(queue);
    await until(async () => (await node.client.job(queue, job)).state === "completed", "the job to complete");

    handler.answers = "hang";
    const id = await node.client.enqueue(queue);
    await until(() => handler.open === 1, "the attempt to be under way");
    const cut = wire.cutResponse(isSettle);
    handler.release();
    await cut;
    await until(async () => (await node.client.job(queue, id)).state === "completed", "the job to complete");
    expect(await node.client.job(queue, id)).toMatchObject({ attempt: 1, attempts_log: [{ attempt: 1, outcome: "completed" }] });
    expect(handler.received).toHaveLength(3);
    expect((await node.client.states(queue)).completed).toBe(2);
  });
});

const STEP = { key: "a", type: "run", status: "completed", output: 1, undoable: true };
const WAIT = { key: "approval", type: "wait", status: "waiting", signal: "approve", timeout: 3_600_000 };
const NAP = { key: "nap", type: "sleep", status: "waiting", sleepFor: 3_600_000 };

/** How an execution ends, by one statement or by a transaction. */
const ENDS: readonly {
  readonly end: string;
  readonly settings?: object;
  readonly isUndo?: true;
  readonly outcome: object;
  readonly cut: (wire: Wire) => Promise<void>;
  readonly leaves: Partial<Run>;
}[] = [
  {
    end: "completed, by one statement",
    outcome: { outcome: "completed", result: 1, steps: [{ ...STEP, key: "b" }] },
    cut: (wire) => wire.cutResponse(isCompletionOfRuns),
    leaves: { status: "completed", result: 1 },
  },
  {
    end: "completed, with a hook",
    settings: { hooks: ["onSuccess"] },
    outcome: { outcome: "completed", result: 1 },
    cut: (wire) => wire.cutCommit(isSettleOfRun),
    leaves: { status: "completed", result: 1 },
  },
  {
    end: "failed for good",
    outcome: { outcome: "failed", error: "No.", retry: false },
    cut: (wire) => wire.cutCommit(isSettleOfRun),
    leaves: { status: "failed", attempt: 1 },
  },
  {
    end: "failed, and to be repeated",
    settings: { backoff: { type: "exponential", delay: 3_600_000 } },
    outcome: { outcome: "failed", error: "No." },
    cut: (wire) => wire.cutCommit(isSettleOfRun),
    leaves: { status: "running", attempt: 2 },
  },
  {
    end: "suspended",
    outcome: { outcome: "suspended", steps: [NAP] },
    cut: (wire) => wire.cutCommit(isSettleOfRun),
    leaves: { status: "sleeping" },
  },
  {
    end: "not fitting the journal",
    outcome: { outcome: "unfit", step: "a", error: "No." },
    cut: (wire) => wire.cutCommit(isSettleOfRun),
    leaves: { status: "waiting" },
  },
  {
    end: "released",
    outcome: { outcome: "released", retry_in: 3_600 },
    cut: (wire) => wire.cutCommit(isSettleOfRun),
    leaves: { status: "running", attempt: 1 },
  },
  {
    end: "the undo of a cancelled run",
    isUndo: true,
    outcome: { outcome: "completed", result: null, steps: [{ key: "undo(a)", type: "undo", status: "completed" }] },
    cut: (wire) => wire.cutCommit(isSettleOfRun),
    leaves: { status: "cancelled", undoErrors: [] },
  },
];

const takeRun = async (client: Client): Promise<TakenRun> => {
  const { runs } = await client.ok("POST", "/v1/work", { worker: "w1", queues: [], workflows: ["mailing"], wait: 10 });
  return runs[0];
};

const proofOf = ({ lease_token }: TakenRun) => ({ lease_token });

describe("an answer of the database on a run that is lost", () => {
  test.for(ENDS)(
    "the worker is told that its outcome is stored: $end",
    async ({ settings = {}, isUndo, outcome, cut, leaves }, { stage }) => {
      const wire = await stage.wire(await stage.database());
      const node = await stage.node({ DATABASE_URL: wire.url() });
      const { client } = node;
      await client.ok("PUT", "/v1/workflows/mailing", settings);
      await client.ok("POST", "/v1/workflows/mailing/trigger", {});
      let run = await takeRun(client);
      await client.ok("POST", `/v1/runs/${run.runId}/steps`, { ...proofOf(run), steps: [STEP] });
      if (isUndo) {
        await client.ok("POST", `/v1/runs/${run.runId}/cancel`);
        run = await takeRun(client);
      }
      const lost = cut(wire);
      const settle = [{ id: run.runId, ...proofOf(run), ...outcome }];
      const { settled } = await client.ok("POST", "/v1/work", { worker: "w1", queues: [], settle });
      await lost;
      expect(settled).toMatchObject([{ ok: true }]);
      expect(await client.ok("GET", `/v1/runs/${run.runId}`)).toMatchObject(leaves);
      expect(node.logged("settle_lost_race")).toBe(0);
    },
  );

  test.for([
    { what: "of a step", steps: [STEP], cut: (wire: Wire) => wire.cutResponse(isStepReport) },
    { what: "of a wait", steps: [WAIT], cut: (wire: Wire) => wire.cutCommit(isStepReport) },
  ])("a report $what is stored once when it is repeated", async ({ steps, cut }, { stage }) => {
    const wire = await stage.wire(await stage.database());
    const { client } = await stage.node({ DATABASE_URL: wire.url() });
    await client.ok("PUT", "/v1/workflows/mailing", {});
    await client.ok("POST", "/v1/workflows/mailing/trigger", {});
    const run = await takeRun(client);
    const report = () => client.api("POST", `/v1/runs/${run.runId}/steps`, { ...proofOf(run), steps });
    const lost = cut(wire);
    expect(await report()).toMatchObject({ status: 503 });
    await lost;
    expect(await report()).toMatchObject({ status: 200, body: { steps: 1 } });
  });
});
