import { describe, expect } from "vitest";
import { runSynchronously } from "#kernel";
import { listJournals } from "../../src/workflows/journals/list-journals.ts";
import { test } from "../harness/engine.ts";
import { laneOfWorkflow, putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const done = (key: string, output: unknown) => ({ key, type: "run", status: "completed", output });

/** A run with these steps that sleeps. */
async function sleeping(flow: TestWorkflow, input: unknown, ...steps: object[]): Promise<string> {
  const runId = await flow.trigger({ input });
  const nap = { key: "nap", type: "sleep", status: "waiting", sleepFor: 60_000 };
  await flow.end(await flow.take({ version: "v1" }), { outcome: "suspended", steps: [...steps, nap] });
  return runId;
}

describe("the journals of a workflow", () => {
  test("are those of runs that have begun and have not ended, with their inputs", async ({ service }) => {
    const [flow, other] = [await putWorkflow(service), await putWorkflow(service)];
    const asleep = await sleeping(flow, { n: 1 }, done("load", [1]));
    await sleeping(other, null);
    await flow.trigger();
    await flow.end(await flow.take(), { outcome: "completed" });
    await flow.trigger();
    expect(await service.ok("GET", `/v1/workflows/${flow.id}/journals`)).toEqual({
      data: [
        {
          runId: asleep,
          workflowId: flow.id,
          version: "v1",
          status: "sleeping",
          attempt: 1,
          attempts: 3,
          input: { n: 1 },
          trigger: { type: "api" },
          createdAt: expect.any(String),
          journal: [expect.objectContaining({ key: "load", output: [1] }), expect.objectContaining({ key: "nap", status: "waiting" })],
        },
      ],
      next_cursor: null,
    });
  });

  test("come in pages, newest first, that end early where journals are large", async ({ service }) => {
    const flow = await putWorkflow(service);
    const large = "x".repeat(900_000);
    const ids = [];
    for (let at = 0; at < 12; at += 1) ids.unshift(await sleeping(flow, at, done("load", large)));
    const pages: string[][] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: { data: { runId: string }[]; next_cursor: string | null } = await service.ok(
        "GET",
        `/v1/workflows/${flow.id}/journals?limit=10${cursor && `&cursor=${cursor}`}`,
      );
      pages.push(page.data.map(({ runId }) => runId));
      cursor = page.next_cursor;
    }
    expect(pages.map(({ length }) => length)).toEqual([9, 3]);
    expect(pages.flat().toSorted()).toEqual(ids.toSorted());
  });

  test("are read when there is memory for the page", async ({ service, engine }) => {
    const flow = await putWorkflow(service);
    await sleeping(flow, null, done("load", "x".repeat(900_000)));
    const { workspaceId, laneId } = await laneOfWorkflow(service, flow.id);
    const asked: number[] = [];
    const refuse = async (bytes: number) => {
      asked.push(bytes);
      throw new Error("no memory");
    };
    await expect(
      listJournals(engine, workspaceId, laneId, { after: null, limit: 10 }, refuse, (_characters, work) => runSynchronously(work)),
    ).rejects.toThrow("no memory");
    expect(asked).toEqual([expect.closeTo(900_000, -4)]);
  });

  test("of a workflow that does not exist are not found", async ({ service }) => {
    expect((await service.api("GET", "/v1/workflows/none/journals")).status).toBe(404);
  });
});
