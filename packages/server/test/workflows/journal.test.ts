import { MAX_JOURNAL, type TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { uuidOf } from "#kernel";
import { HOUR_MS, invoking } from "../harness/invoking.ts";
import { type Service, test } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const step = (key: string, more: object = {}) => ({ key, type: "run", status: "completed", output: key, ...more });
const sleep = (key: string, seconds: number) => ({ key, type: "sleep", status: "waiting", sleepFor: seconds * 1_000 });

const JOURNAL_LIMITS = "the journal of a run has at most 10000 steps, whose outputs and errors are 33554432 bytes together.";

const NO_ROOM = { status: "failed", output: null, error: { name: "JournalTooLargeError" } };

const waitOf = (key: string, signal: string) => ({ key, type: "wait", status: "waiting", signal, timeout: 60_000 });

const setJournalBytes = (service: Service, runId: string, bytes: number) =>
  service.database.query("update run set journal_bytes = $1 where id = $2", [bytes, uuidOf("run", runId)]);

async function journalBytesOf(service: Service, runId: string): Promise<number | undefined> {
  const [run] = await service.database.query<{ bytes: number }>("select journal_bytes::int as bytes from run where id = $1", [
    uuidOf("run", runId),
  ]);
  return run?.bytes;
}

describe("the journal of a run", () => {
  test("has the outcomes of steps in the order in which they were stored", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service);
    const runId = await trigger();
    const run = await take();
    const report = (...steps: object[]) => service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, steps });
    expect(await report(step("b"), step("a"))).toEqual({ steps: 2 });
    const error = { name: "CardError", message: "Declined." };
    expect(await report({ key: "c", type: "run", status: "failed", error, attempt: 3 }, step("d", { type: "value", output: 0.5 }))).toEqual(
      {
        steps: 4,
      },
    );
    await end(run, { outcome: "released" });
    const journal = [
      { key: "b", output: "b" },
      { key: "a", output: "a" },
      { key: "c", status: "failed", output: null, error, attempt: 3 },
      { key: "d", type: "value", output: 0.5 },
    ];
    expect((await take()).journal).toMatchObject(journal);
    expect((await get(runId)).steps).toMatchObject(journal);
  });

  test("keeps the first outcome of a step: a report may be repeated", async ({ service }) => {
    const { trigger, take, get } = await putWorkflow(service);
    const runId = await trigger();
    const { lease_token } = await take();
    for (const output of [1, 2])
      expect(await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [step("a", { output })] })).toEqual({ steps: 1 });
    expect((await get(runId)).steps).toMatchObject([{ key: "a", output: 1 }]);
  });

  test("keeps its order when reports repeat steps beside new ones", async ({ service }) => {
    const { trigger, take, get } = await putWorkflow(service);
    const runId = await trigger();
    const { lease_token } = await take();
    const report = (...steps: object[]) => service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });
    await report(step("a"));
    await Promise.all([report(step("a"), step("b")), report(step("a"), step("b"), step("c"))]);
    await report(step("a"), step("b"), step("c"), step("d"), step("d"));
    expect(await report(step("e"))).toEqual({ steps: 5 });
    expect((await get(runId)).steps.map(({ key }) => key)).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("has a sleep that the program ends beside steps in progress, in the order of its end", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service);
    const runId = await trigger();
    const run = await take();
    const report = (...steps: object[]) => service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, steps });
    await report(sleep("nap", 60), step("a"));
    await report({ key: "nap", type: "sleep", status: "completed" }, { key: "other", type: "sleep", status: "completed" });
    await end(run, { outcome: "suspended", steps: [step("b"), sleep("over", 0)] });
    expect((await get(runId)).steps).toMatchObject([
      { key: "a" },
      { key: "nap", status: "completed", output: null, endedAt: expect.any(String) },
      { key: "other", status: "completed" },
      { key: "b" },
      { key: "over", status: "waiting" },
    ]);
    expect((await take()).journal.map(({ key }) => key)).toEqual(["a", "nap", "other", "b", "over"]);
  });

  test("counts a sleep once", async ({ service }) => {
    const { trigger, take, end } = await putWorkflow(service);
    const runId = await trigger();
    await end(await take(), { outcome: "suspended", steps: [sleep("nap", 1)] });
    await service.advance(2);
    const { lease_token } = await take();
    expect(await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [step("a")] })).toEqual({ steps: 2 });
  });

  test("has a limit", async ({ service }) => {
    const { trigger, take, get, end } = await putWorkflow(service);
    const runId = await trigger();
    const run = await take();
    const large = "x".repeat(1_000_000);
    const report = (from: number, to: number) =>
      service.api("POST", `/v1/runs/${runId}/steps`, {
        lease_token: run.lease_token,
        steps: Array.from({ length: to - from }, (_, index) => step(`s${from + index}`, { output: large })),
      });
    expect((await report(0, 1)).status).toBe(200);
    await service.database.query("update run set journal_bytes = journal_bytes + 32 * 1000000");
    const { status, body } = await report(33, 35);
    expect([status, body.error.message]).toEqual([413, `There is no room for step "s33" and 1 more: ${JOURNAL_LIMITS}`]);
    expect(body.error.details).toEqual({ limit_steps: 10_000, limit_bytes: 33_554_432 });
    expect(await end(run, { outcome: "suspended", steps: [step("last", { output: large })] })).toMatchObject({ ok: true });
    const message = `There is no room for step "last": ${JOURNAL_LIMITS}`;
    expect(await get(runId)).toMatchObject({ status: "failed", error: { name: "JournalTooLargeError", message } });
  });

  test.for([
    ["completed", { outcome: "completed", result: 1 }, "JournalTooLargeError"],
    ["is suspended", { outcome: "suspended" }, "JournalTooLargeError"],
    ["failed with attempts left", { outcome: "failed", error: "No answer.", error_name: "TypeError" }, "JournalTooLargeError"],
    ["failed for good", { outcome: "failed", error: "No answer.", error_name: "TypeError", retry: false }, "TypeError"],
  ] as const)("that has no room for the last steps of an execution that %s: the run fails", async ([, outcome, name], { service }) => {
    const { id, trigger, take, end, get, work } = await putWorkflow(service, { hooks: ["onFailure"] });
    const runId = await trigger();
    const run = await take();
    await service.database.query("update run set steps = 10000");
    expect(await end(run, { ...outcome, steps: [step("last")] })).toMatchObject({ ok: true });
    expect(await get(runId)).toMatchObject({ status: "failed", result: null, error: { name }, steps: [] });
    expect((await work({ workflows: [id], wait: 10 })).hooks).toMatchObject([{ hook: "onFailure", runId, error: { name } }]);
  });

  test("that is full takes reports of steps that it has, and ends a sleep", async ({ service }) => {
    const { trigger, take, get, end } = await putWorkflow(service);
    const runId = await trigger();
    const first = await take();
    const report = (lease_token: string, ...steps: object[]) => service.api("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });
    await report(first.lease_token, step("a"), sleep("nap", 60_000));
    await service.database.query("update run set steps = 10000, journal_bytes = 33554432");
    expect((await report(first.lease_token, step("a"))).status).toBe(200);
    expect((await report(first.lease_token, step("a"), step("new"))).status).toBe(413);
    expect((await report(first.lease_token, { key: "nap", type: "sleep", status: "completed" })).status).toBe(200);
    expect(await end(first, { outcome: "completed", result: 1, steps: [step("a")] })).toMatchObject({ ok: true });
    expect(await get(runId)).toMatchObject({ status: "completed", steps: [{ key: "a" }, { key: "nap", status: "completed" }] });
  });

  test("that has no room for what a step has waited for: the step fails, and others that fit do not", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service);
    const runId = await trigger();
    const payloads = { small: '"123456"', large: "123", one: "1", none: "" };
    const waits = Object.keys(payloads).map((key) => waitOf(key, `${runId}.${key}`));
    await end(await take(), { outcome: "suspended", steps: [...waits, sleep("nap", 5)] });
    await setJournalBytes(service, runId, MAX_JOURNAL.bytes - 10);
    for (const [key, payload] of Object.entries(payloads)) {
      await service.ok("POST", `/v1/signals/${runId}.${key}/complete`, payload);
      await service.advance(1);
    }
    await service.advance(2);
    const journal = [
      { key: "small", status: "completed", output: "123456" },
      {
        key: "large",
        ...NO_ROOM,
        error: { name: "JournalTooLargeError", message: `There is no room for step "large": ${JOURNAL_LIMITS}` },
      },
      { key: "one", status: "completed", output: 1 },
      { key: "none", ...NO_ROOM },
      { key: "nap", status: "completed", output: null },
    ];
    const run = await take();
    expect(run.journal).toMatchObject(journal);
    expect((await get(runId)).steps).toMatchObject(journal);
    expect(await journalBytesOf(service, runId)).toBe(MAX_JOURNAL.bytes - 10 + '"123456"'.length + "1".length);
    expect(await end(run, { outcome: "completed", result: 1 })).toMatchObject({ ok: true });
  });

  test("that has no room for the payload of a signal leaves it to the next wait for the signal", async ({ service }) => {
    const { trigger, take, end } = await putWorkflow(service);
    const runId = await trigger();
    await end(await take(), { outcome: "suspended", steps: [waitOf("first", runId)] });
    await setJournalBytes(service, runId, MAX_JOURNAL.bytes);
    await service.ok("POST", `/v1/signals/${runId}/complete`, "1");
    const run = await take();
    expect(run.journal).toMatchObject([{ key: "first", ...NO_ROOM }]);
    await setJournalBytes(service, runId, 0);
    await end(run, { outcome: "suspended", steps: [waitOf("second", runId)] });
    expect((await take()).journal).toMatchObject([{ key: "first" }, { key: "second", status: "completed", output: 1 }]);
  });

  test.for([
    ["result", { outcome: "completed", result: 1 }],
    ["error", { outcome: "failed", error: "€".repeat(10_000), retry: false }],
  ] as const)("that has no room for the %s of a run: the step fails, and keeps the id of the run", async ([, outcome], { service }) => {
    const { parent, child, parentId, childId } = await invoking(service);
    await setJournalBytes(service, parentId, MAX_JOURNAL.bytes);
    await child.end(await child.take(), outcome);
    expect((await parent.take()).journal).toMatchObject([{ key: "bill", ...NO_ROOM, output: { runId: childId } }]);
  });

  test("counts the error of a run that it has room for", async ({ service }) => {
    const { parent, child, parentId } = await invoking(service);
    await child.end(await child.take(), { outcome: "failed", error: "x".repeat(10_000), retry: false });
    const output = JSON.stringify({ runId: parentId }).length;
    const error = JSON.stringify({ name: "Error", message: "x".repeat(10_000) }).length;
    expect((await parent.take()).journal).toMatchObject([{ key: "bill", status: "failed", error: { name: "WorkflowFailedError" } }]);
    expect(await journalBytesOf(service, parentId)).toBe(output + error);
  });

  test.for([
    ["is cancelled", "WorkflowCancelledError"],
    ["does not end in time", "WorkflowTimeoutError"],
  ] as const)("that is full has the error of a run that %s", async ([, name], { service }) => {
    const { parent, parentId, childId } = await invoking(service);
    await setJournalBytes(service, parentId, MAX_JOURNAL.bytes);
    if (name === "WorkflowCancelledError") await service.ok("POST", `/v1/runs/${childId}/cancel`);
    else await service.advance(HOUR_MS / 1_000 + 1);
    expect((await parent.take()).journal).toMatchObject([{ key: "bill", status: "failed", error: { name } }]);
    expect(await journalBytesOf(service, parentId)).toBe(MAX_JOURNAL.bytes);
  });

  test("that is full refuses steps that the service executes, and they do nothing", async ({ service }) => {
    const other = await putWorkflow(service, { events: ["journal.full"] });
    const { trigger, take, get } = await putWorkflow(service);
    const runId = await trigger();
    const { lease_token } = await take();
    await service.database.query("update run set steps = 10000");
    for (const [path, body] of [
      ["events", { name: "journal.full", data: 1 }],
      ["invocations", { workflow: other.id, input: 1, timeout: 60_000 }],
      ["signals", { signal: "journal.full" }],
    ] as const) {
      const { status, body: refused } = await service.api("POST", `/v1/runs/${runId}/${path}`, { lease_token, key: path, ...body });
      expect([path, status, refused.error.message]).toEqual([path, 413, expect.stringContaining("at most 10000 steps")]);
    }
    expect((await service.ok("GET", `/v1/runs?workflowId=${other.id}`)).data).toEqual([]);
    expect((await service.api("POST", "/v1/signals/journal.full/complete", 1)).status).toBe(404);
    expect((await service.ok("GET", "/v1/usage")).executions.total).toBe(1);
    expect(await get(runId)).toMatchObject({ status: "running", steps: [] });
  });

  test("refuses an error that cannot be stored", async ({ service }) => {
    const { trigger, take } = await putWorkflow(service);
    const runId = await trigger();
    const { lease_token } = await take();
    for (const message of ["a\0b", "lone \ud800", "x".repeat(20_000)]) {
      const steps = [{ key: "a", type: "run", status: "failed", error: { name: "Error", message } }];
      const { status, body } = await service.api("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });
      expect([status, body.error.details.issues[0].path]).toEqual([400, "steps[0].error.message"]);
    }
  });

  test("keeps outputs as they were written", async ({ service }) => {
    const { trigger, take } = await putWorkflow(service);
    const runId = await trigger();
    const { lease_token } = await take();
    const text = `{"lease_token":"${lease_token}","steps":[{"key":"a","type":"run","status":"completed","output":{"n":12345678901234567890,"x":1.0}}]}`;
    const url = `${service.node.url}/v1/runs/${runId}/steps`;
    const headers = { authorization: `Bearer ${service.key}`, "content-type": "application/json" };
    await fetch(url, { method: "POST", headers, body: text });
    const shown = await (await fetch(`${service.node.url}/v1/runs/${runId}`, { headers: { authorization: headers.authorization } })).text();
    expect(shown).toContain('"output":{"n":12345678901234567890,"x":1.0}');
  });

  test("has sleeps in the order of their ends, after which the run goes on", async ({ service }) => {
    const { id, trigger, take, end, get, work } = await putWorkflow(service);
    const runId = await trigger();
    await end(await take(), { outcome: "suspended", steps: [sleep("long", 120), sleep("short", 60)] });
    expect(await get(runId)).toMatchObject({ status: "sleeping", steps: [{ key: "long", wakeAt: expect.any(String) }, { key: "short" }] });
    await service.advance(59);
    expect((await work({ workflows: [id] })).runs).toEqual([]);
    await service.advance(2);
    const second = await take();
    expect(second.journal).toMatchObject([
      { key: "short", status: "completed", output: null },
      { key: "long", status: "waiting" },
    ]);
    await end(second, { outcome: "suspended", steps: [] });
    await service.advance(60);
    expect((await take()).journal).toMatchObject([
      { key: "short", status: "completed" },
      { key: "long", status: "completed" },
    ]);
  });

  test("has a sleep until a moment that has passed as over, and the run goes on at once", async ({ service }) => {
    const { trigger, take, end } = await putWorkflow(service);
    await trigger();
    const until = { key: "until", type: "sleep", status: "waiting", sleepUntil: "2020-01-01T00:00:00Z" };
    await end(await take(), { outcome: "suspended", steps: [until] });
    expect((await take()).journal).toMatchObject([{ key: "until", status: "completed" }]);
  });

  test("refuses steps whose fields do not go together, and stores none of the report", async ({ service }) => {
    const { trigger, take, get } = await putWorkflow(service);
    const runId = await trigger();
    const { lease_token } = await take();
    const misfits: [object, string][] = [
      [{ key: "s", type: "sleep", status: "failed", error: { name: "E", message: "e" } }, "steps[1].status"],
      [{ key: "s", type: "sleep", status: "waiting" }, "steps[1].sleepFor"],
      [{ key: "s", type: "run", status: "waiting" }, "steps[1].status"],
      [{ key: "s", type: "run", status: "failed" }, "steps[1].error"],
      [step("s", { error: { name: "E", message: "m" } }), "steps[1].error"],
      [step("s", { sleepFor: 1 }), "steps[1].sleepFor"],
      [{ key: "s", type: "run", status: "failed", output: 1, error: { name: "E", message: "m" } }, "steps[1].output"],
    ];
    for (const [misfit, path] of misfits) {
      const { status, body } = await service.api("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [step("ok"), misfit] });
      expect([status, body.error.details.issues[0].path]).toEqual([400, path]);
    }
    expect((await get(runId)).steps).toEqual([]);
  });

  test("takes no steps with the token of a run of another workflow", async ({ service }) => {
    const [mine, other] = [await putWorkflow(service), await putWorkflow(service)];
    const runId = await mine.trigger();
    await mine.take();
    await other.trigger();
    const { lease_token } = await other.take();
    const { status } = await service.api("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [step("a")] });
    expect(status).toBe(409);
    expect((await mine.get(runId)).steps).toEqual([]);
  });
});

describe("steps that are reported with the end of an execution", () => {
  test("are in the journal of a run that completed or failed", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service, { attempts: 1 });
    const [completed, failed] = [await trigger(), await trigger()];
    const error = { name: "CardError", message: "Declined." };
    await end(await take(), { outcome: "completed", result: 1, steps: [step("a"), step("b", { type: "value" })] });
    const steps = [step("a"), { key: "pay", type: "run", status: "failed", error }];
    await end(await take(), { outcome: "failed", error: "Declined.", error_name: "CardError", steps });
    expect(await get(completed)).toMatchObject({ status: "completed", result: 1, steps: [{ key: "a", output: "a" }, { key: "b" }] });
    expect(await get(failed)).toMatchObject({ status: "failed", error, steps: [{ key: "a" }, { key: "pay", error }] });
  });

  test("are kept for the next attempt", async ({ service }) => {
    const { trigger, take, end } = await putWorkflow(service, { backoff: { type: "exponential", delay: 10 } });
    await trigger();
    await end(await take(), { outcome: "failed", error: "No answer.", steps: [step("a")] });
    await service.advance(1);
    expect((await take()).journal).toMatchObject([{ key: "a", output: "a" }]);
  });

  test("refuse only their own outcome if they are bad", async ({ service }) => {
    const { trigger, work, id, get } = await putWorkflow(service);
    const ids = [await trigger(), await trigger(), await trigger(), await trigger()];
    const { runs } = await work({ workflows: [id], limit: 4 });
    const outcomes = [
      { outcome: "suspended", steps: [{ key: "w", type: "wait", status: "waiting", signal: "s" }] },
      { outcome: "completed", result: 1, steps: [step("a"), sleep("late", 1)] },
      { outcome: "suspended", steps: [step("big", { output: "x".repeat(1024 * 1024) })] },
      { outcome: "completed", result: 2, steps: [step("a")] },
    ];
    const settle = runs.map(({ runId, lease_token }, index) => ({
      id: runId,
      lease_token,
      ...outcomes[index],
    }));
    const { settled } = await work({ settle });
    expect(settled).toMatchObject([
      { ok: false, code: "VALIDATION_ERROR", message: "steps[0].timeout must be given for a wait." },
      { ok: false, code: "VALIDATION_ERROR", message: 'steps[1].status must not be waiting with the outcome "completed".' },
      { ok: false, code: "PAYLOAD_TOO_LARGE", message: 'The output of step "big" has 1048578 bytes; the limit is 1048576 bytes.' },
      { ok: true },
    ]);
    const states = await Promise.all(ids.map(async (runId) => (await get(runId)).status));
    expect(states).toEqual(["running", "running", "running", "completed"]);
  });

  test("are those of their own run, when many end at once", async ({ service }) => {
    const { trigger, work, id, get } = await putWorkflow(service, { hooks: ["onSuccess"] });
    const ids = await Promise.all(Array.from({ length: 40 }, (_, index) => trigger({ input: index })));
    const { runs } = await work({ workflows: [id], limit: 40 });
    const settle = runs.map((run) => {
      const { runId, lease_token } = run;
      const input = run.input as number;
      const steps = [step("n", { output: input })];
      const outcome =
        input % 3 === 0
          ? { outcome: "completed", result: input, steps }
          : input % 3 === 1
            ? { outcome: "failed", error: `E${input}`, retry: false, steps }
            : { outcome: "suspended", steps: [...steps, sleep("nap", 60)] };
      return { id: runId, lease_token, ...outcome };
    });
    await Promise.all(settle.map((one) => work({ settle: [one] })));
    const shown = await Promise.all(ids.map((runId) => get(runId)));
    for (const { input, status, result, error, steps } of shown) {
      const expected = [
        { status: "completed", result: input, error: null },
        { status: "failed", result: null, error: { message: `E${input}` } },
        { status: "sleeping", result: null, error: null },
      ][(input as number) % 3];
      expect({ status, result, error }).toMatchObject(expected as object);
      expect(steps).toMatchObject([{ key: "n", output: input }, ...(status === "sleeping" ? [{ key: "nap", status: "waiting" }] : [])]);
    }
    expect((await work({ workflows: [id], limit: 40 })).hooks).toHaveLength(14);
  });
});

describe("a response for workers", () => {
  test("has about 4 MiB of inputs and journals at most; the rest comes with the next call", async ({ service }) => {
    const { trigger, work, id } = await putWorkflow(service);
    const ids = await Promise.all(Array.from({ length: 6 }, () => trigger({ input: "x".repeat(1_000_000) })));
    const first = await work({ workflows: [id], limit: 10 });
    const second = await work({ workflows: [id], limit: 10, wait: 10 });
    expect([first.runs.length, second.runs.length]).toEqual([4, 2]);
    expect([...first.runs, ...second.runs].map(({ runId }) => runId).sort()).toEqual(ids.sort());
    for (const { input, attempt } of second.runs) expect([(input as string).length, attempt]).toEqual([1_000_000, 1]);
  });
});

describe("reports of several runs in one call", () => {
  const reportOf = ({ runId: id, lease_token }: TakenRun, more: object = {}) => ({ id, lease_token, ...more });

  test("are stored in the journals of their runs, as they were written, with their progress", async ({ service }) => {
    const workflow = await putWorkflow(service);
    for (let n = 0; n < 3; n += 1) await workflow.trigger();
    const { runs } = await workflow.work({ workflows: [workflow.id], limit: 3 });
    const [one, two, three] = runs as [TakenRun, TakenRun, TakenRun];
    const reports = JSON.stringify([reportOf(one), reportOf(two, { progress: { sent: 1 } }), reportOf(three, { progress: 2 })]);
    const steps = [
      '{"report":1,"key":"a","type":"run","status":"completed","output":{"n":12345678901234567890}}',
      '{"report":0,"key":"a","type":"run","status":"completed","output":1.0}',
      '{"report":1,"key":"b","type":"run","status":"completed"}',
    ];
    const { body } = await service.api("POST", "/v1/work/steps", `{"reports":${reports},"steps":[${steps.join(",")}]}`);
    const stored = { ok: true, code: null, message: null, details: {} };
    expect(body).toEqual({
      reports: [
        { id: one.runId, steps: 1, ...stored },
        { id: two.runId, steps: 2, ...stored },
        { id: three.runId, steps: 0, ...stored },
      ],
    });
    expect((await workflow.get(two.runId)).steps).toMatchObject([{ key: "a" }, { key: "b", output: null }]);
    expect([(await workflow.get(two.runId)).progress, (await workflow.get(three.runId)).progress]).toEqual([{ sent: 1 }, 2]);
    const { text } = await service.api("GET", `/v1/runs/${two.runId}`);
    expect(text).toContain('"output":{"n":12345678901234567890}');
    await workflow.end(one, { outcome: "released" });
    expect((await workflow.take()).journal).toMatchObject([{ key: "a", output: 1 }]);
  });

  test("keep each other from nothing when one of them is repeated", async ({ service }) => {
    const { trigger, take, get } = await putWorkflow(service);
    const ids = [await trigger(), await trigger()];
    const runs = [await take(), await take()].toSorted((a, b) => ids.indexOf(a.runId) - ids.indexOf(b.runId));
    const reports = runs.map(({ runId: id, lease_token }) => ({ id, lease_token }));
    await service.ok("POST", `/v1/runs/${ids[0]}/steps`, { lease_token: runs[0]?.lease_token, steps: [step("a")] });
    const steps = [step("a", { report: 0, output: "later" }), step("b", { report: 1 })];
    expect(await service.ok("POST", "/v1/work/steps", { reports, steps })).toMatchObject({
      reports: [
        { ok: true, steps: 1 },
        { ok: true, steps: 1 },
      ],
    });
    expect((await get(ids[0] ?? "")).steps).toMatchObject([{ key: "a", output: "a" }]);
    expect((await get(ids[1] ?? "")).steps).toMatchObject([{ key: "b", output: "b" }]);
  });

  test("are refused with the details of their errors, of which those of a full journal have the limits", async ({ service }) => {
    const workflow = await putWorkflow(service);
    for (let n = 0; n < 2; n += 1) await workflow.trigger();
    const { runs } = await workflow.work({ workflows: [workflow.id], limit: 2 });
    const [full, bad] = runs as [TakenRun, TakenRun];
    await service.database.query("update run set steps = 10000");
    const steps = [
      { report: 0, ...step("a") },
      { report: 1, ...step("a"), status: "failed" },
    ];
    const { reports } = await service.ok("POST", "/v1/work/steps", { reports: [reportOf(full), reportOf(bad)], steps });
    expect(reports).toMatchObject([
      { code: "PAYLOAD_TOO_LARGE", details: { limit_steps: 10_000, limit_bytes: 33_554_432 } },
      { code: "VALIDATION_ERROR", details: { issues: [{ path: expect.stringContaining("steps[0]") }] } },
    ]);
  });

  test("are refused one by one: that of a run that is lost, is not there, or has bad steps keeps no other from being stored", async ({
    service,
  }) => {
    const workflow = await putWorkflow(service);
    for (let n = 0; n < 3; n += 1) await workflow.trigger();
    const { runs } = await workflow.work({ workflows: [workflow.id], limit: 3 });
    const [good, bad, lost] = runs as [TakenRun, TakenRun, TakenRun];
    await service.ok("POST", `/v1/runs/${lost.runId}/cancel`);
    const gone = { id: "run_01kajv3k4ve6nsd9z5kgtzx0rw", lease_token: good.lease_token };
    const reports = [reportOf(lost), reportOf(good), reportOf(bad), gone];
    const steps = [0, 1, 2, 3].map((report) => ({ report, ...step("a"), ...(report === 2 && { status: "failed" }) }));
    const stored = await service.ok("POST", "/v1/work/steps", { reports, steps });
    expect(stored.reports.map(({ code }: { code: string | null }) => code)).toEqual(["LEASE_LOST", null, "VALIDATION_ERROR", "LEASE_LOST"]);
    expect((await workflow.get(good.runId)).steps).toMatchObject([{ key: "a" }]);
    expect((await workflow.get(bad.runId)).steps).toEqual([]);
    const nobody = await service.api("POST", "/v1/work/steps", { reports: [reportOf(good)], steps: [{ report: 1, ...step("b") }] });
    expect(nobody).toMatchObject({ status: 400, body: { error: { details: { issues: [{ path: "steps[0].report" }] } } } });
  });
});
