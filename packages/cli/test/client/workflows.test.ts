import { writeFileSync } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { expect } from "vitest";
import { test as stageTest } from "../../../server/test/harness/stage.ts";
import { putWorkflow } from "../../../server/test/harness/workflows.ts";
import { readRows } from "../output.ts";
import { test } from "./client.ts";

const step = (key: string, more: object = {}) => ({ key, type: "run", status: "completed", output: { key }, ...more });

test("workflows are listed, shown and deleted", async ({ command, service }) => {
  const { id } = await putWorkflow(service, { events: ["user.created", "user.moved"], version: "v1" });
  const row = { ID: id, VERSION: "v1", ATTEMPTS: "3", EVENTS: "user.created,user.moved", CRON: "" };
  expect(readRows(await command.output("workflow", "list"))).toMatchObject([row]);
  expect(await command.json("workflow", "get", id)).toMatchObject({ id, events: ["user.created", "user.moved"] });
  expect(await command.output("workflow", "get", id)).toContain("version\tv1\n");
  expect(await command.run("workflow", "delete", id)).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
  expect(await command.json("workflow", "delete", id, "--yes")).toEqual({ workflow: id, deleted: true });
  expect(await command.json("workflow", "list")).toEqual([]);
});

test("a run is started with an input from an argument, a file or the standard input, all of whose digits are kept", async ({
  command,
  service,
}) => {
  const { id } = await putWorkflow(service);
  const json = '{"n":12345678901234567890}';
  const file = path.join(command.directory, "input.json");
  writeFileSync(file, `${json}\n`);
  const inputOf = async (started: string): Promise<string> => (await service.api("GET", `/v1/runs/${JSON.parse(started).runIds[0]}`)).text;
  const trigger = ["workflow", "trigger", id, "--json"];
  expect(await inputOf(await command.output(...trigger, json))).toContain(`"input":${json}`);
  expect(await inputOf(await command.output(...trigger, "--file", file))).toContain(`"input":${json}`);
  expect(await inputOf((await command.runReading(Readable.from([Buffer.from(json)]), ...trigger)).stdout)).toContain(`"input":${json}`);
  expect(await inputOf(await command.output(...trigger))).toContain('"input":null');
  expect(await command.run(...trigger, "{")).toMatchObject({ code: 1, stderr: expect.stringMatching(/^tidemill: The input is not JSON/) });
  expect(await command.run(...trigger, "1", "--file", file)).toMatchObject({ code: 1, stderr: expect.stringContaining("not both") });
});

test("an argument that is not JSON is named", async ({ command }) => {
  const refusal = (what: string) => ({ code: 1, stderr: expect.stringContaining(`tidemill: The ${what} is not JSON: `) });
  expect(await command.run("event", "send", "user.created", "{")).toMatchObject(refusal("data"));
  expect(await command.run("signal", "complete", "approve.u1", "{")).toMatchObject(refusal("payload"));
});

test("a run is started once for an idempotency key, and after its delay", async ({ command, service }) => {
  const { id, work } = await putWorkflow(service);
  const trigger = () => command.json("workflow", "trigger", id, "1", "--idempotency-key", "k", "--delay", "60");
  const { runIds } = await trigger();
  expect(await trigger()).toEqual({ runIds, duplicate: true });
  expect((await work({ workflows: [id] })).runs).toEqual([]);
});

test("runs are listed, of a status or a workflow", async ({ command, service }) => {
  const [one, other] = [await putWorkflow(service), await putWorkflow(service)];
  const failed = await one.trigger();
  await one.end(await one.take(), { outcome: "failed", error: "Declined.", error_name: "CardError", retry: false });
  const pending = await one.trigger();
  await other.trigger();
  const rows = readRows(await command.output("run", "list", "--workflow", one.id));
  expect(rows).toMatchObject([
    { RUN: pending, WORKFLOW: one.id, STATUS: "pending", ATTEMPT: "1", ATTEMPTS: "3", ERROR: "" },
    { RUN: failed, STATUS: "failed", ERROR: "CardError: Declined." },
  ]);
  expect(await command.json("run", "list", "--status", "failed,cancelled")).toMatchObject([{ runId: failed }]);
  expect(await command.json("run", "list", "--limit", "2")).toHaveLength(2);
  expect(await command.json("run", "list", "--all")).toHaveLength(3);
});

test("a run that has not started is explained, gate by gate", async ({ command, service }) => {
  const { trigger } = await putWorkflow(service);
  const runId = await trigger();
  const [summary, standing, gates] = (await command.output("run", "explain", runId)).split("\n\n");
  expect(summary).toBe("Not running: the workflow has neither an endpoint_url nor a worker.");
  expect(readRows(standing ?? "")).toEqual([{ STATUS: "pending", AHEAD: "0", ESTIMATED_START: "unknown" }]);
  expect(gates).toMatch(/^handler\tyes\tThe workflow has neither an endpoint_url nor a worker\.$/m);
  expect(await command.json("run", "explain", runId)).toEqual(await service.ok("GET", `/v1/runs/${runId}/explain`));
});

test("a run is shown with its journal, what it waits for, and what to do next", async ({ command, service }) => {
  const { trigger, take, end } = await putWorkflow(service);
  const runId = await trigger({ input: { userId: "u1" } });
  expect(await command.output("run", "get", runId)).toContain(`\n\nTo see why it has not started: tidemill run explain ${runId}\n`);
  const steps = [
    step("load"),
    step("charge", { status: "failed", output: undefined, error: { name: "CardError", message: "Declined." } }),
    step("long", { output: "x".repeat(200) }),
    { key: "approval", type: "wait", status: "waiting", signal: "approve 'u1'", timeout: 60_000 },
  ];
  await end(await take(), { outcome: "suspended", steps });
  const [fields = "", table = "", next] = (await command.output("run", "get", runId)).split("\n\n");
  expect(fields).toContain("status\twaiting");
  expect(fields).toContain('input\t{"userId":"u1"}');
  expect(readRows(table)).toMatchObject([
    { STEP: "load", TYPE: "run", STATUS: "completed", ATTEMPT: "1", DETAIL: '{"key":"load"}' },
    { STEP: "charge", STATUS: "failed", DETAIL: "CardError: Declined." },
    { STEP: "long", DETAIL: `"${"x".repeat(99)}…` },
    { STEP: "approval", TYPE: "wait", STATUS: "waiting", DETAIL: expect.stringMatching(/^approve 'u1' until 20\S+Z$/) },
  ]);
  expect(next).toBe("To continue it: tidemill signal complete 'approve '\\''u1'\\''' '<payload>'\n");
  expect(await command.json("run", "get", runId)).toMatchObject({ runId, steps: [{ key: "load" }, {}, {}, {}] });
});

test("a run that sleeps says when it continues", async ({ command, service }) => {
  const { trigger, take, end } = await putWorkflow(service);
  const runId = await trigger();
  const sleep = (key: string, sleepFor: number) => ({ key, type: "sleep", status: "waiting", sleepFor });
  await end(await take(), { outcome: "suspended", steps: [sleep("long", 7_200_000), sleep("short", 3_600_000)] });
  const { waitingFor } = await command.json("run", "get", runId);
  expect(await command.output("run", "get", runId)).toMatch(`\n\nIt continues at ${waitingFor[1].until}.\n`);
});

test("a run that waits for other code says why, and a run that is kept for another version says for which", async ({
  command,
  service,
}) => {
  const { id, trigger, take, work, end } = await putWorkflow(service);
  const runId = await trigger();
  const { lease_token } = await take({ version: "v1" });
  await work({ version: "v1", settle: [{ id: runId, lease_token, outcome: "unfit", step: "load", error: "No step." }] });
  expect(await command.output("run", "get", runId)).toContain(
    "\n\nThe journal does not fit the code of version v1: No step.\n" +
      `It continues with a worker of another version. To try it again immediately: tidemill run retry ${runId}\n`,
  );
  const kept = await trigger();
  await end(await take({ version: "v1" }), { outcome: "released" });
  await work({ workflows: [id], version: "v2", limit: 2 });
  expect(await command.output("run", "get", kept)).toContain("\n\nIt is due, and kept for a worker of version v1.\n");
});

test("a run that code without a version tries again says when", async ({ command, service }) => {
  const { trigger, take, end } = await putWorkflow(service);
  const runId = await trigger();
  await end(await take(), { outcome: "unfit", step: "load", error: "No step." });
  const { waitingFor } = await command.json("run", "get", runId);
  expect(await command.output("run", "get", runId)).toContain(
    "\n\nThe journal does not fit the code: No step.\n" +
      `It is tried again at ${waitingFor[0].retryAt}. To try it again immediately: tidemill run retry ${runId}\n`,
  );
});

test("a run whose steps are undone does not say how to continue", async ({ command, service }) => {
  const { trigger, take, end } = await putWorkflow(service);
  const runId = await trigger();
  const { lease_token } = await take();
  await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [step("load", { undoable: true })] });
  expect(await command.output("run", "cancel", runId)).toContain(
    "\n\nIts steps are still to be undone.\nThe run cannot continue. Start another run.\n",
  );
  const undo = await take();
  await end(undo, { outcome: "failed", error: "No refund." });
  expect(await command.output("run", "get", runId)).toMatch(
    /\n\nIts steps are still to be undone, next at 20\S+Z\. The last try failed: No refund\.\nThe run cannot continue\. Start another run\.\n/,
  );
  await service.advance(2);
  await end(await take(), { outcome: "completed" });
  expect(await command.output("run", "get", runId)).toContain(
    "\n\nThe steps of the run are undone, so it cannot continue. Start another run.\n",
  );
});

test("a failed run says how to continue it, and so does a cancelled one", async ({ command, service }) => {
  const { trigger, take, end } = await putWorkflow(service, { attempts: 2, backoff: { delay: 60_000 } });
  const runId = await trigger();
  await end(await take(), { outcome: "failed", error: "No answer." });
  expect(await command.output("run", "get", runId)).toMatch(
    /error\tNo answer\.\n\nAttempt 2 of 2 starts at 20\S+Z\. "tidemill run cancel run_/,
  );
  expect(await command.output("run", "cancel", runId)).toContain(`\n\nTo continue it from its journal: tidemill run retry ${runId}\n`);
  expect(await command.json("run", "retry", runId)).toMatchObject({ runId, status: "running", nextAttemptAt: null });
  await end(await take(), { outcome: "failed", error: "Declined.", retry: false });
  expect(await command.output("run", "get", runId)).toContain(`When the cause is fixed: tidemill run retry ${runId}.`);
});

test("what does not exist is code 4, with what was probably meant; a state that does not allow it is code 5", async ({
  command,
  service,
}) => {
  await service.ok("PUT", "/v1/workflows/user.onboard", {});
  const meant = { code: 4, stdout: "", stderr: 'tidemill: There is no workflow "user.onbord". Did you mean "user.onboard"?\n' };
  expect(await command.run("workflow", "get", "user.onbord")).toEqual(meant);
  expect(await command.run("workflow", "trigger", "user.onbord", "1")).toEqual(meant);
  expect(await command.run("workflow", "delete", "user.onbord", "--yes")).toEqual(meant);
  expect(await command.run("run", "list", "--workflow", "user.onbord")).toEqual(meant);
  expect(await command.run("run", "get", "run_01kajv3k4ve6nsd9z5kgtzx0rw")).toMatchObject({ code: 4 });
  expect(await command.run("run", "get", "user.onboard")).toMatchObject({ code: 1, stderr: expect.stringContaining("tidemill run list") });
  expect(await command.run("run", "list", "--status", "done")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("pending, running"),
  });
  const { runIds } = await command.json("workflow", "trigger", "user.onboard");
  expect(await command.run("run", "retry", runIds[0])).toMatchObject({ code: 5 });
  await command.output("run", "cancel", runIds[0]);
  expect(await command.run("run", "cancel", runIds[0])).toMatchObject({ code: 5 });
});

stageTest("a shell completes the commands of workflows, runs and signals, and their options", async ({ stage }) => {
  const complete = async (...words: string[]) => {
    const { stdout } = await stage.run(["complete", "--", ...words]);
    return stdout.split("\n").map((line) => line.split("\t")[0]);
  };
  expect(await complete("workflow", "")).toEqual(expect.arrayContaining(["list", "get", "trigger", "delete"]));
  expect(await complete("run", "")).toEqual(expect.arrayContaining(["list", "get", "cancel", "retry"]));
  expect(await complete("signal", "")).toContain("complete");
  expect(await complete("workflow", "trigger", "--")).toEqual(expect.arrayContaining(["--file", "--idempotency-key", "--delay"]));
});
