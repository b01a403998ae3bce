import { describe, expect } from "vitest";
import { test as base } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const test = base.extend<"flow", TestWorkflow>("flow", ({ service }) => putWorkflow(service));

const NAP = { key: "nap", type: "sleep", status: "waiting", sleepFor: 1_000 };
const stepWith = (output: unknown) => ({ key: "a", type: "run", status: "completed", output });

describe("the output of a step", () => {
  test.for([{ text: "hello" }, { text: "1", more: 2 }, { text: 5 }, { text: null }, "text"])(
    "is stored as it is, by itself and with the end of an execution: %o",
    async (output, { service, flow }) => {
      await flow.trigger();
      const run = await flow.take();
      await service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps: [{ ...stepWith(output), key: "b" }] });
      expect(await flow.end(run, { outcome: "suspended", steps: [stepWith(output), NAP] })).toMatchObject({ ok: true });
      await service.advance(2);
      const { journal } = await flow.take();
      expect(journal.filter(({ type }) => type === "run").map((step) => step.output)).toEqual([output, output]);
    },
  );

  test.for([7, null, [], { name: "Error" }, { name: "Error", message: "\0" }, { name: "Error", message: "No.", more: 1 }])(
    "that begins to undo must be an error: not %o",
    async (output, { service, flow }) => {
      await flow.trigger();
      const { runId, lease_token } = await flow.take();
      const steps = [{ key: "undo()", type: "undo", status: "completed", output }];
      const { status, body } = await service.api("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });
      expect([status, body.error.details.issues[0].path]).toEqual([400, "steps[0].output"]);
    },
  );
});
