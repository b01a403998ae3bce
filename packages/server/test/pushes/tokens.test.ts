import { describe, expect } from "vitest";
import { type Pushed, pushedWorkflow } from "../harness/pushes.ts";
import { newWorkspace, Service, test, until } from "../harness/service.ts";

const steps = [{ key: "a", type: "run", status: "completed", output: 1 }];

const isRun = (pushed: Pushed) => pushed.kind === "run";

/** A run in progress, as its program got it. */
async function executing(service: Service, settings: object = {}) {
  const workflow = await pushedWorkflow(service, () => "hang", settings);
  const runId = await workflow.trigger();
  await until(() => workflow.program.open === 1, "the run to be executed");
  const [pushed] = workflow.executions();
  return { workflow, runId, token: pushed?.lease_token ?? "" };
}

describe("the token of an execution", () => {
  test("proves nothing after the execution", async ({ service }) => {
    const { workflow, runId, token } = await executing(service, { attempts: 2 });
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: token, steps });
    workflow.program.reset();
    await until(async () => (await service.jobStates()).delayed === 1, "the execution to fail");
    await service.advance(1);
    await until(() => workflow.executions().length === 2, "the next execution");
    for (const [method, path, body] of [
      ["POST", "steps", { lease_token: token, steps }],
      ["POST", "events", { lease_token: token, key: "tell", name: "a" }],
      ["POST", "signals", { lease_token: token, key: "ask", signal: "s" }],
      ["GET", `journal?lease_token=${token}`, undefined],
    ] as const) {
      expect((await service.api(method, `/v1/runs/${runId}/${path}`, body)).body.error.code).toBe("LEASE_LOST");
    }
  });

  test("proves nothing about another run, attempt or workspace", async ({ service, database, clock }) => {
    const { runId, token } = await executing(service);
    const other = await executing(service);
    const [lease, lane, , secret] = token.split("-");
    for (const [id, lease_token] of [
      [other.runId, token],
      [runId, other.token],
      [runId, `${lease}-${lane}-2-${secret}`],
      [runId, `${lease}-${lane}-1-${"A".repeat(22)}`],
    ] as const) {
      expect((await service.api("POST", `/v1/runs/${id}/steps`, { lease_token, steps })).body.error.code).toBe("LEASE_LOST");
    }
    const stranger = new Service(service.node, database, clock, await newWorkspace(database));
    expect((await stranger.api("POST", `/v1/runs/${runId}/steps`, { lease_token: token, steps })).status).toBe(404);
    expect((await service.ok("GET", `/v1/runs/${runId}`)).steps).toEqual([]);
  });

  test("proves what is reported after a secret of the input was rotated, or got other limits", async ({ service }) => {
    const value = "s3cr3t-value-of-the-token";
    await service.ok("POST", "/v1/secrets", { name: "TOKEN", value });
    const workflow = await pushedWorkflow(service, async (pushed) => {
      if (pushed.kind !== "run") return 500;
      const { runId, lease_token, input } = pushed;
      await service.advance(1);
      await service.ok("PATCH", "/v1/secrets/TOKEN", { value: "another value" });
      await service.ok("PATCH", "/v1/secrets/TOKEN", { allowed_queues: ["emails"] });
      const step = { key: "a", type: "run", status: "completed", output: input };
      await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [step] });
      return { outcome: "completed", result: input };
    });
    const runId = await workflow.trigger({ input: "${{ secrets.TOKEN }}" });
    await workflow.untilStatus(runId, "completed");
    const mark = "[secret:TOKEN]";
    expect(await workflow.get(runId)).toMatchObject({ attempt: 1, result: mark, steps: [{ key: "a", output: mark }] });
  });

  test("settles nothing and extends nothing by POST /v1/work: the response does", async ({ service }) => {
    const { runId, token } = await executing(service);
    const settle = [{ id: runId, lease_token: token, outcome: "completed" }];
    const { settled } = await service.ok("POST", "/v1/work", { worker: "w1", queues: [], settle });
    expect(settled).toMatchObject([{ ok: false, code: "LEASE_LOST" }]);
    const { leases } = await service.ok("POST", "/v1/work/extend", { worker: "w1", leases: [{ id: runId, lease_token: token }] });
    expect(leases).toMatchObject([{ ok: false }]);
    expect(await service.ok("GET", `/v1/runs/${runId}`)).toMatchObject({ status: "running" });
  });
});

describe("a journal that is too large to be sent", () => {
  test("is null in the request, and is fetched page by page", async ({ service }) => {
    const output = "x".repeat(100_000);
    const many = Array.from({ length: 7 }, (_, at) => ({ key: `s${at}`, type: "run", status: "completed", output }));
    const naps = ["n1", "n2"].map((key) => ({ key, type: "sleep", status: "waiting", sleepFor: 60_000 }));
    const pages: (string | undefined)[][] = [];
    const workflow = await pushedWorkflow(service, async (pushed) => {
      if (pushed.kind !== "run") return 500;
      const { runId, lease_token, journal, journalSteps } = pushed;
      if (journal?.length === 0) {
        await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: many });
        return { outcome: "suspended", steps: [{ key: "first", type: "sleep", status: "waiting", sleepFor: 1_000 }, ...naps] };
      }
      expect([journal, journalSteps]).toEqual([null, 10]);
      for (let cursor = ""; cursor !== "end"; ) {
        const query = `lease_token=${lease_token}&limit=3${cursor && `&cursor=${cursor}`}`;
        const page = await service.ok("GET", `/v1/runs/${runId}/journal?${query}`);
        pages.push(page.data.map(({ key }: { key: string }) => key));
        cursor = page.next_cursor ?? "end";
      }
      return { outcome: "completed" };
    });
    const runId = await workflow.trigger();
    await workflow.untilStatus(runId, "sleeping");
    await service.advance(1);
    await workflow.untilStatus(runId, "completed");
    expect(pages).toEqual([["s0", "s1", "s2"], ["s3", "s4", "s5"], ["s6", "first", "n1"], ["n2"]]);
    expect(workflow.executions().every(isRun)).toBe(true);
  });

  test("is so also by the keys of its steps, however short their outputs are", async ({ service }) => {
    const seen: (number | null | undefined)[][] = [];
    const workflow = await pushedWorkflow(service, async (pushed) => {
      if (pushed.kind !== "run") return 500;
      const { runId, lease_token, journal, journalSteps } = pushed;
      seen.push([journal?.length ?? null, journalSteps]);
      if (seen.length > 2) return { outcome: "completed" };
      // The first time about 200 KiB, then 400.
      for (let report = 0; report < 5; report += 1) {
        const keyOf = (at: number) => `${seen.length} ${report} ${at} ${"k".repeat(230)}`;
        const steps = Array.from({ length: 100 }, (_, at) => ({ key: keyOf(at), type: "run", status: "completed" }));
        await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });
      }
      return { outcome: "suspended", steps: [{ key: `nap ${seen.length}`, type: "sleep", status: "waiting", sleepFor: 1_000 }] };
    });
    const runId = await workflow.trigger();
    for (const executions of [1, 2]) {
      await until(async () => seen.length === executions && (await workflow.get(runId)).status === "sleeping", "the run to sleep");
      await service.advance(1);
    }
    await workflow.untilStatus(runId, "completed");
    expect(seen).toEqual([
      [0, undefined],
      [501, undefined],
      [null, 1_002],
    ]);
  });

  test("has pages of 4 MiB, and of one step at least", async ({ service }) => {
    const { runId, token } = await executing(service);
    for (const key of ["a", "b", "c", "d", "e"]) {
      const step = { key, type: "run", status: "completed", output: "x".repeat(1_000_000) };
      await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: token, steps: [step] });
    }
    const first = await service.ok("GET", `/v1/runs/${runId}/journal?lease_token=${token}`);
    const second = await service.ok("GET", `/v1/runs/${runId}/journal?lease_token=${token}&cursor=${first.next_cursor}`);
    expect([first, second].map(({ data }) => data.map(({ key }: { key: string }) => key))).toEqual([["a", "b", "c", "d"], ["e"]]);
    expect(second.next_cursor).toBeNull();
  });
});
