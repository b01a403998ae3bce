import { type Tidemill, type WorkerOptions, type WorkflowContext, workflow } from "@tidemill/sdk";
import { describe, expect } from "vitest";
import { until } from "../../../server/test/harness/service.ts";
import { test as base, untilStatus } from "../harness/workflow-workers.ts";

const quiet = () => {};

const test = base.extend(
  "start",
  ({ worker }) =>
    (program: (context: WorkflowContext) => unknown, version: string, options?: Partial<WorkerOptions>) =>
      worker([workflow({ id: "order", version }, program)], options),
);

async function trigger(client: Tidemill): Promise<string> {
  await until(() => client.workflows.get("order").then(Boolean, () => false), "the workflow to be registered");
  return (await client.workflows.trigger("order")).runIds[0] ?? "";
}

describe("two versions of a workflow", () => {
  test("a run whose steps were renamed waits for fitting code, and goes on with it", async ({ service, client, start }) => {
    const executed: string[] = [];
    const steps =
      (name: string) =>
      async ({ step }: WorkflowContext) => {
        await step.run(name, () => executed.push(name));
        await step.sleep("a day", "24h");
        return step.run("ship", () => executed.push("ship"));
      };
    const first = start(steps("load"), "1");
    const runId = await trigger(client);
    await untilStatus(client, runId, "sleeping");
    await first.stop();
    await service.advance(86_401);

    const second = start(steps("load order"), "2");
    await untilStatus(client, runId, "waiting");
    expect(await client.runs.get(runId)).toMatchObject({
      version: "1",
      attempt: 1,
      error: null,
      waitingFor: [
        {
          type: "code",
          step: "load",
          journalVersion: "1",
          codeVersion: "2",
          reason:
            'The journal has step "load", but the code does not reach it. It requests "load order", which the journal does not have. ' +
            "If the code has changed, keep the steps of runs in progress, and put new code behind run.patched(name). If not, the code " +
            "depends on more than its input and the outcomes of steps.",
        },
      ],
    });
    expect(executed).toEqual(["load"]);
    await second.stop();

    start(async ({ step, run }) => {
      await (run.patched("renamed") ? step.run("load order", quiet) : step.run("load", quiet));
      await step.sleep("a day", "24h");
      return step.run("ship", () => executed.push("ship 3"));
    }, "3");
    await untilStatus(client, runId, "completed");
    expect(await client.runs.get(runId)).toMatchObject({ attempt: 1, version: "1", waitingFor: [] });
    expect(executed).toEqual(["load", "ship 3"]);
  });

  test("a step that is of another type waits for code too, and can be cancelled", async ({ service, client, start }) => {
    const first = start(({ step }) => step.sleep("pause", "1h"), "1");
    const runId = await trigger(client);
    await untilStatus(client, runId, "sleeping");
    await first.stop();
    await service.advance(3_601);
    start(({ step }) => step.run("pause", quiet), "2");
    await untilStatus(client, runId, "waiting");
    expect((await client.runs.list({ status: "waiting" })).data).toMatchObject([{ runId }]);
    expect((await client.runs.cancel(runId)).status).toBe("cancelled");
  });

  test("each goes on with the runs that it has begun, while both are there", async ({ service, client, start }) => {
    const by: string[] = [];
    const program =
      (version: string) =>
      async ({ step }: WorkflowContext) => {
        await step.run("begin", () => by.push(`${version} begins`));
        await step.sleep("pause", "10s");
        return step.run("end", () => by.push(`${version} ends`));
      };
    start(program("1"), "1", { name: "one" });
    const old = await trigger(client);
    await untilStatus(client, old, "sleeping");
    start(program("2"), "2", { name: "two" });
    await until(async () => (await client.workflows.get("order")).version === "2", "version 2 to be registered");
    for (let count = 0; count < 10; count += 1) await trigger(client);
    await until(async () => (await client.runs.list({ status: "sleeping" })).data.length === 11, "all runs to sleep");
    await service.advance(11);
    await until(async () => (await client.runs.list({ status: "completed" })).data.length === 11, "all runs to complete");
    const count = (what: string) => by.filter((one) => one === what).length;
    expect([count("1 ends"), count("2 ends")]).toEqual([count("1 begins"), count("2 begins")]);
    expect(count("1 begins")).toBeGreaterThan(0);
  });

  test("a workflow that is not deterministic fails in development at its first run, with the step's name", async ({ client, start }) => {
    let calls = 0;
    start(
      async ({ step }) => {
        calls += 1;
        const name = calls % 2 === 1 ? "left" : "right";
        await step.run("begin", quiet);
        await step.run(name, quiet);
      },
      "1",
      { replayEachStep: true },
    );
    const runId = await trigger(client);
    await untilStatus(client, runId, "failed");
    expect(await client.runs.get(runId)).toMatchObject({
      attempt: 1,
      error: {
        name: "NondeterminismError",
        message: expect.stringContaining('After step "begin", the workflow asked for step "left", and a replay asked for step "right".'),
      },
    });
  });
});
