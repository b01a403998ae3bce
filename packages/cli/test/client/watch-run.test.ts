import { expect } from "vitest";
import { putWorkflow } from "../../../server/test/harness/workflows.ts";
import { test } from "./client.ts";

const STEP = { key: "load", type: "run", status: "completed", output: { name: "Ada" } };

test("run watch prints steps, progress and status, and ends with code 0 when the run completes", async ({ command, service }) => {
  const { trigger, take, end } = await putWorkflow(service);
  const runId = await trigger();
  const watching = command.run("run", "watch", runId);
  const run = await take();
  await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, steps: [STEP], progress: { done: 1 } });
  await end(run, { outcome: "completed", result: [1] });
  const { code, stdout } = await watching;
  const lines = stdout.trimEnd().split("\n");
  expect(code).toBe(0);
  expect(lines).toEqual(expect.arrayContaining(['  completed  load, {"name":"Ada"}', 'progress  {"done":1}']));
  expect(lines.at(-1)).toBe("completed  attempt 1 of 3, [1]");
});

test("run watch --json prints one event per line, and ends with code 8 when the run does not complete", async ({ command, service }) => {
  const { trigger } = await putWorkflow(service);
  const runId = await trigger();
  await service.ok("POST", `/v1/runs/${runId}/cancel`);
  const { code, stdout } = await command.run("run", "watch", runId, "--json");
  expect({
    code,
    events: stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  }).toMatchObject({
    code: 8,
    events: [{ type: "run", run: { runId, status: "cancelled" } }],
  });
});

test("run watch stops after its timeout with code 8, and says when there is no such run", async ({ command, service }) => {
  const runId = await (await putWorkflow(service)).trigger();
  expect(await command.run("run", "watch", runId, "--timeout", "1")).toMatchObject({ code: 8, stdout: "pending\n" });
  expect(await command.run("run", "watch", "run_01kajv3k4ve6nsd9z5kgtzx0rw")).toMatchObject({ code: 4 });
});
