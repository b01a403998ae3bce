import type { TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { uuidOf } from "#kernel";
import { type Service, test, until } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const charge = (key: string) => ({ key, type: "run", status: "completed", output: key, undoable: true });
const undo = (key: string) => ({ key: `undo(${key})`, type: "undo", status: "completed" });

const report = (service: Service, { runId, lease_token }: TakenRun, steps: object[]) =>
  service.api("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });

/** A run that is executed and has two steps that can be undone, and one that cannot. */
async function charged(service: Service, workflow: TestWorkflow, asked: object = {}): Promise<TakenRun> {
  await workflow.trigger();
  const run = await workflow.take(asked);
  const mail = { key: "mail", type: "run", status: "completed" };
  expect((await report(service, run, [charge("a"), mail, charge("b")])).status).toBe(200);
  return run;
}

describe("the steps of a run", () => {
  test("are undone by one more execution after a cancel, during which it is shown as cancelled", async ({ service }) => {
    const workflow = await putWorkflow(service);
    const { runId } = await charged(service, workflow);
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    const taken = await workflow.take();
    expect(taken).toMatchObject({ runId, undo: true, journal: [{ key: "a", undoable: true }, { undoable: false }, { key: "b" }] });
    expect(await workflow.get(runId)).toMatchObject({ status: "cancelled" });
    await report(service, taken, [undo("b")]);
    expect(await workflow.get(runId)).toMatchObject({ status: "cancelled", undoErrors: [] });
    await report(service, taken, [undo("a")]);
    expect(await workflow.end(taken, { outcome: "completed", result: null })).toMatchObject({ ok: true });
    const { status, result, steps, undoErrors } = await workflow.get(runId);
    expect({ status, result, undoErrors }).toEqual({ status: "cancelled", result: null, undoErrors: [] });
    expect(steps.map(({ key }) => key)).toEqual(["a", "mail", "b", "undo(b)", "undo(a)"]);
    expect((await workflow.work({ workflows: [workflow.id] })).runs).toEqual([]);
  });

  test("are undone by a worker of the version that started the run, while any asks", async ({ service }) => {
    const workflow = await putWorkflow(service);
    const { runId } = await charged(service, workflow, { worker: "w-v1", version: "v1" });
    const takenBy = async (version: string) =>
      (await workflow.work({ worker: `w-${version}`, workflows: [workflow.id], version })).runs.map((run) => run.runId);
    await takenBy("v2");
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    expect(await takenBy("v2")).toEqual([]);
    expect(await takenBy("v1")).toEqual([runId]);
  });

  test("are not undone when there is nothing to undo", async ({ service }) => {
    const workflow = await putWorkflow(service, { attempts: 1 });
    for (const end of ["cancel", "fail", "undone", "complete"]) {
      const run = end === "complete" || end === "undone" ? await charged(service, workflow) : null;
      if (!run) await workflow.trigger();
      const taken = run ?? (await workflow.take());
      if (end === "cancel") await service.ok("POST", `/v1/runs/${taken.runId}/cancel`);
      if (end === "fail") await workflow.end(taken, { outcome: "failed", error: "bad" });
      if (end === "undone") {
        await report(service, taken, [undo("b"), undo("a")]);
        await workflow.end(taken, { outcome: "failed", error: "bad" });
      }
      if (end === "complete") await workflow.end(taken, { outcome: "completed" });
      expect([end, (await workflow.work({ workflows: [workflow.id] })).runs]).toEqual([end, []]);
    }
  });

  test("are undone by the service's execution when the worker was lost while it undid them, with the error of the program", async ({
    service,
  }) => {
    const workflow = await putWorkflow(service, { attempts: 1, hooks: ["onFailure"] });
    const run = await charged(service, workflow, { lease: 10 });
    const begun = { key: "undo()", type: "undo", status: "completed", output: { name: "TypeError", message: "Declined." } };
    await report(service, run, [begun]);
    await report(service, run, [undo("b")]);
    await service.advance(11);
    await until(async () => (await workflow.get(run.runId)).status === "failed", "the lease to end");
    const { runs, hooks } = await workflow.work({ workflows: [workflow.id], wait: 10, limit: 5 });
    expect(hooks).toMatchObject([{ hook: "onFailure", error: { name: "TypeError", message: "Declined." } }]);
    expect(runs).toMatchObject([{ undo: true, runId: run.runId }]);
    expect(await workflow.get(run.runId)).toMatchObject({ status: "failed", error: { name: "TypeError", message: "Declined." } });
    const [taken] = runs as [TakenRun];
    await report(service, taken, [{ ...undo("a"), status: "failed", error: { name: "Error", message: "no" } }]);
    await workflow.end(taken, { outcome: "completed" });
    expect((await workflow.get(run.runId)).undoErrors).toEqual([{ step: "a", message: "no", occurredAt: expect.any(String) }]);
  });

  test("are undone for an error that is stored as it was read, whatever else its text has", async ({ service }) => {
    const workflow = await putWorkflow(service, { attempts: 1 });
    const { runId, lease_token } = await charged(service, workflow, { lease: 10 });
    const output = String.raw`{"name":"TypeError","message":"\u0000","message":"Declined."}`;
    const begun = `{"lease_token":"${lease_token}","steps":[{"key":"undo()","type":"undo","status":"completed","output":${output}}]}`;
    expect((await service.api("POST", `/v1/runs/${runId}/steps`, begun)).status).toBe(200);
    await service.advance(11);
    await until(async () => (await workflow.get(runId)).status === "failed", "the lease to end");
    expect(await service.database.query("select error from run where id = $1", [uuidOf("run", runId)])).toEqual([
      { error: JSON.stringify({ name: "TypeError", message: "Declined." }) },
    ]);
  });

  describe("that its program has begun to undo when it is cancelled", () => {
    const begun = { key: "undo()", type: "undo", status: "completed", output: { name: "TypeError", message: "Declined." } };

    /** A run that was cancelled while its program undid step `b`. */
    async function cancelled(service: Service, asked: object = {}): Promise<{ workflow: TestWorkflow; run: TakenRun }> {
      const workflow = await putWorkflow(service);
      const run = await charged(service, workflow, asked);
      await report(service, run, [begun]);
      await service.ok("POST", `/v1/runs/${run.runId}/cancel`);
      expect(await workflow.get(run.runId)).toMatchObject({ status: "cancelled", error: null });
      return { workflow, run };
    }

    test("are undone by that execution, and by no other beside it", async ({ service }) => {
      const { workflow, run } = await cancelled(service);
      expect(await workflow.work({ worker: "w2", workflows: [workflow.id] })).toMatchObject({ runs: [] });
      expect(await workflow.work({ workflows: [workflow.id] })).toMatchObject({ runs: [], cancelled: [] });
      expect((await report(service, run, [undo("b")])).status).toBe(200);
      expect((await report(service, run, [charge("c")])).status).toBe(409);
      expect((await report(service, run, [undo("a")])).status).toBe(200);
      const ended = await workflow.end(run, { outcome: "failed", error: "Declined.", error_name: "TypeError", retry: false });
      expect(ended).toMatchObject({ ok: true });
      expect((await workflow.work({ workflows: [workflow.id] })).runs).toEqual([]);
      expect(await workflow.get(run.runId)).toMatchObject({ status: "cancelled", error: null, undoErrors: [] });
    });

    test("are undone by another execution when its worker is lost", async ({ service }) => {
      const { workflow, run } = await cancelled(service, { lease: 10 });
      await report(service, run, [undo("b")]);
      await service.advance(11);
      await until(async () => (await report(service, run, [undo("b")])).status === 409, "the lease to end");
      await service.advance(5);
      const second = await workflow.take({ worker: "w2" });
      expect(second).toMatchObject({ undo: true, journal: [{}, {}, {}, { key: "undo()" }, { key: "undo(b)" }] });
      await report(service, second, [undo("a")]);
      expect(await workflow.end(second, { outcome: "completed" })).toMatchObject({ ok: true });
      expect((await workflow.get(run.runId)).undoErrors).toEqual([]);
    });

    test("are undone by another execution when its worker gives it back, leaves some, or has other code", async ({ service }) => {
      const failed = { outcome: "failed", error: "Declined.", retry: false };
      for (const outcome of [{ outcome: "released" }, failed, { outcome: "unfit", step: "a", error: "No." }, { outcome: "suspended" }]) {
        const { workflow, run } = await cancelled(service);
        await report(service, run, [undo("b")]);
        await workflow.end(run, outcome);
        const second = await workflow.take({ worker: "w2" });
        expect(second).toMatchObject({ runId: run.runId, undo: true });
        await report(service, second, [undo("a")]);
        expect(await workflow.end(second, { outcome: "completed" })).toMatchObject({ ok: true });
        expect(await workflow.get(run.runId)).toMatchObject({ status: "cancelled", undoErrors: [] });
      }
    });
  });

  test("stay in the journal of a run that was cancelled, whatever its program would repeat", async ({ service }) => {
    const workflow = await putWorkflow(service, { attempts: 2 });
    const run = await charged(service, workflow);
    const error = { name: "TypeError", message: "Declined." };
    await report(service, run, [
      { key: "ship", type: "run", status: "failed", error },
      { key: "undo()", type: "undo", status: "completed", output: error },
    ]);
    await service.ok("POST", `/v1/runs/${run.runId}/cancel`);
    const { steps } = await workflow.get(run.runId);
    await workflow.end(run, { outcome: "failed", error: "Declined.", retry: true, retry_steps: ["ship"] });
    expect(await workflow.get(run.runId)).toMatchObject({ status: "cancelled", steps: steps.map(({ key }) => ({ key })) });
    expect(await service.database.query("select steps from run where id = $1", [uuidOf("run", run.runId)])).toEqual([
      { steps: steps.length },
    ]);
  });

  test("are undone by another worker when the lease of the first one ends", async ({ service }) => {
    const workflow = await putWorkflow(service);
    const { runId } = await charged(service, workflow);
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    const first = await workflow.take({ lease: 10 });
    await report(service, first, [undo("b")]);
    await service.advance(11);
    await until(async () => (await report(service, first, [undo("b")])).status === 409, "the lease to end");
    await service.advance(5);
    const second = await workflow.take({ worker: "w2" });
    expect(second.journal.map(({ key }) => key)).toContain("undo(b)");
    expect(await report(service, first, [undo("a")])).toMatchObject({ status: 409 });
    await report(service, second, [undo("a")]);
    expect(await workflow.end(second, { outcome: "completed" })).toMatchObject({ ok: true });
  });

  test("that a worker did not undo, or could not for good, are recorded", async ({ service }) => {
    const workflow = await putWorkflow(service);
    for (const [outcome, message] of [
      [{ outcome: "completed" }, "The worker did not undo it."],
      [{ outcome: "failed", error: "no code", retry: false }, "no code"],
    ] as const) {
      const { runId } = await charged(service, workflow);
      await service.ok("POST", `/v1/runs/${runId}/cancel`);
      const taken = await workflow.take();
      await report(service, taken, [undo("b")]);
      await workflow.end(taken, outcome);
      expect((await workflow.get(runId)).undoErrors).toEqual([{ step: "a", message, occurredAt: expect.any(String) }]);
    }
  });

  test("are undone of each run of a call whose outcomes end several, also of steps that come with the outcome", async ({ service }) => {
    const workflow = await putWorkflow(service, { attempts: 1 });
    const runs: TakenRun[] = [];
    for (const _ of [1, 2, 3]) {
      await workflow.trigger();
      runs.push(await workflow.take());
    }
    const ends = [
      { outcome: "failed", error: "bad", steps: [charge("a")] },
      { outcome: "failed", error: "bad", steps: [{ key: "mail", type: "run", status: "completed" }] },
      { outcome: "failed", error: "bad", steps: [charge("b"), { ...undo(""), output: { name: "TypeError", message: "Declined." } }] },
    ];
    const settle = runs.map(({ runId: id, lease_token }, at) => ({ id, lease_token, ...ends[at] }));
    expect((await workflow.work({ settle })).settled).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
    const undone = (await workflow.work({ workflows: [workflow.id], limit: 5, wait: 10 })).runs;
    const [first, second, third] = runs.map(({ runId }) => runId) as [string, string, string];
    expect(undone.map(({ runId, undo: isUndo }) => [runId, isUndo]).sort()).toEqual(
      [
        [first, true],
        [third, true],
      ].sort(),
    );
    expect((await workflow.get(second)).error).toMatchObject({ message: "bad" });
    expect((await workflow.get(third)).error).toEqual({ name: "TypeError", message: "Declined." });
    const again = undone.map(({ runId: id, lease_token, journal }) => {
      const steps = [{ ...undo(journal[0]?.key ?? ""), status: "failed", error: { name: "Error", message: "no" } }];
      return { id, lease_token, outcome: "completed", steps, progress: "undone" };
    });
    expect((await workflow.work({ settle: again })).settled).toMatchObject([{ ok: true }, { ok: true }]);
    for (const [runId, step] of [
      [first, "a"],
      [third, "b"],
    ] as const) {
      const undoErrors = [{ step, message: "no", occurredAt: expect.any(String) }];
      expect(await workflow.get(runId)).toMatchObject({ status: "failed", undoErrors, progress: "undone" });
    }
  });

  test("have room for their undos in a journal that is full", async ({ service }) => {
    const workflow = await putWorkflow(service);
    const run = await charged(service, workflow);
    await service.database.query("update run set steps = 10000");
    expect(await report(service, run, [charge("c")])).toMatchObject({ status: 413 });
    expect(await report(service, run, [undo("b"), undo("a")])).toMatchObject({ status: 200, body: { steps: 10_002 } });
  });

  test("get the input of the run with its secrets, which are not in what is reported of the undo", async ({ service }) => {
    const workflow = await putWorkflow(service);
    await service.ok("POST", "/v1/secrets", { name: "TOKEN", value: "s3cr3t-value-of-the-token" });
    await workflow.trigger({ input: { auth: "${{ secrets.TOKEN }}" } });
    const run = await workflow.take();
    await report(service, run, [charge("a")]);
    await service.ok("POST", `/v1/runs/${run.runId}/cancel`);
    const taken = await workflow.take();
    expect(taken).toMatchObject({ undo: true, input: { auth: "s3cr3t-value-of-the-token" } });
    const error = { name: "Error", message: "No: s3cr3t-value-of-the-token" };
    await report(service, taken, [{ ...undo("a"), status: "failed", error }]);
    await workflow.end(taken, { outcome: "completed" });
    expect((await workflow.get(run.runId)).undoErrors).toMatchObject([{ message: "No: [secret:TOKEN]" }]);
  });

  test("cannot be added after a cancel, other than undos", async ({ service }) => {
    const workflow = await putWorkflow(service);
    const { runId } = await charged(service, workflow);
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    const { lease_token, ...taken } = await workflow.take();
    for (const steps of [[charge("c")], [undo("b"), charge("c")]]) {
      expect(await report(service, { lease_token, ...taken }, steps)).toMatchObject({
        status: 409,
        body: { error: { code: "LEASE_LOST" } },
      });
    }
    const event = { lease_token, key: "tell", name: "user.created" };
    expect((await service.api("POST", `/v1/runs/${runId}/events`, event)).status).toBe(409);
    expect((await service.api("POST", `/v1/runs/${runId}/signals`, { lease_token, key: "ask", signal: "s" })).status).toBe(409);
    const sleep = { key: "nap", type: "sleep", status: "waiting", sleepFor: 1 };
    expect(await workflow.end({ lease_token, ...taken }, { outcome: "suspended", steps: [sleep] })).toMatchObject({ ok: false });
    expect((await workflow.get(runId)).steps).toHaveLength(3);
  });

  test("that are undone keep the run from being retried", async ({ service }) => {
    const workflow = await putWorkflow(service);
    const { runId } = await charged(service, workflow);
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    const refused = async () => expect((await service.api("POST", `/v1/runs/${runId}/retry`)).body.error.code).toBe("INVALID_STATE");
    await refused();
    const taken = await workflow.take();
    await report(service, taken, [undo("b"), undo("a")]);
    await workflow.end(taken, { outcome: "completed" });
    await refused();
    expect(await workflow.get(runId)).toMatchObject({ status: "cancelled" });
  });

  test("are reported as what they are", async ({ service }) => {
    const workflow = await putWorkflow(service);
    await workflow.trigger();
    const run = await workflow.take();
    for (const [step, field] of [
      [{ ...undo("a"), key: "a" }, "key"],
      [{ ...charge("undo(a)"), undoable: false }, "key"],
      [{ key: "undo()", type: "sleep", status: "waiting", sleepFor: 1 }, "key"],
      [charge("🎉".repeat(251)), "key"],
      [{ ...undo("a"), undoable: true }, "undoable"],
      [{ key: "s", type: "value", status: "completed", undoable: true }, "undoable"],
      [{ key: "s", type: "run", status: "failed", error: { name: "E", message: "m" }, undoable: true }, "undoable"],
      [{ ...undo("a"), status: "waiting" }, "status"],
    ] as const) {
      const { status, body } = await report(service, run, [step]);
      expect([status, body.error.details.issues[0].path]).toEqual([400, `steps[0].${field}`]);
    }
  });

  test("have keys that no step of another type may have", async ({ service }) => {
    const workflow = await putWorkflow(service);
    await workflow.trigger();
    const { runId, lease_token } = await workflow.take();
    for (const [path, body] of [
      ["events", { name: "told", data: {} }],
      ["signals", { signal: "approve" }],
      ["invocations", { workflow: workflow.id, input: {}, timeout: 1 }],
    ] as const) {
      const refused = await service.api("POST", `/v1/runs/${runId}/${path}`, { lease_token, key: "undo(a)", ...body });
      expect([path, refused.status, refused.body.error?.details.issues[0].path]).toEqual([path, 400, "key"]);
    }
    expect((await workflow.get(runId)).steps).toEqual([]);
  });

  test("have keys that are long enough for those of all steps that can be undone", async ({ service }) => {
    const workflow = await putWorkflow(service);
    await workflow.trigger();
    const run = await workflow.take();
    const key = "🎉".repeat(250);
    for (const step of [charge(key), { ...charge(`${key}🎉`), undoable: false }, undo(key)])
      expect((await report(service, run, [step])).status).toBe(200);
  });

  test("wake a worker that waits when they are to be undone", async ({ service }) => {
    const workflow = await putWorkflow(service);
    const { runId } = await charged(service, workflow);
    const waiting = workflow.work({ worker: "w2", workflows: [workflow.id], wait: 20 });
    await until(async () => (await service.ok("GET", "/v1/workers")).data.length > 1, "the other worker to wait");
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    expect((await waiting).runs).toMatchObject([{ runId, undo: true }]);
  });
});
