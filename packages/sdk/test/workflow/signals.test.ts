import { event, SignalTimeoutError, signal, Tidemill, type WorkflowContext, workflow } from "@tidemill/sdk";
import { testWorkflow, timesOut } from "@tidemill/sdk/testing";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { MemoryRun } from "./memory-journal.ts";

const approval = signal<{ ok: boolean }>();

describe("a workflow that waits for a signal", () => {
  const purchase = workflow({ id: "purchase" }, async ({ step }) => {
    await step.signal("ask", { signal: "approve.u1" });
    const { ok } = await step.waitForSignal("approval", { signal: "approve.u1", timeout: "48h", of: approval });
    return ok;
  });

  test("gets the payload of its completion, also when each step is followed by a crash", async () => {
    const signals = { "approve.u1": { ok: true } };
    expect(await testWorkflow(purchase, { signals, crash: "afterEveryStep" })).toMatchObject({ status: "completed", result: true });
  });

  test("catches that the time has passed", async () => {
    const patient = workflow({ id: "patient" }, async ({ step }) => {
      try {
        return await step.waitForSignal<string>("approval", { signal: "approve.u1", timeout: "48h" });
      } catch (error) {
        expect(error).toBeInstanceOf(SignalTimeoutError);
        return (error as Error).message;
      }
    });
    const run = await testWorkflow(patient, { signals: { "approve.u1": timesOut } });
    expect(run).toMatchObject({ result: 'The signal "approve.u1" was not completed in time.', elapsedMs: 48 * 3_600_000 });
  });

  test("fails its test by the name of the signal when nobody completes it", async () => {
    await expect(testWorkflow(purchase, {})).rejects.toThrow(
      'Step "approval" waits for the signal "approve.u1", which the test does not complete.',
    );
  });

  test("is suspended with what it waits for", async () => {
    const run = new MemoryRun(({ step }) => step.waitForSignal("approval", { signal: "s", timeout: 5_000 }));
    expect(await run.execute()).toMatchObject({
      outcome: "suspended",
      steps: [{ key: "approval", type: "wait", status: "waiting", signal: "s", timeout: 5_000 }],
    });
  });

  test("races it against a sleep", async () => {
    const raced = workflow({ id: "raced" }, ({ step }) =>
      step.race({ answer: step.waitForSignal("answer", { signal: "s", timeout: "2h" }), late: step.sleep("late", "1h") }),
    );
    expect(await testWorkflow(raced, { signals: { s: timesOut } })).toMatchObject({ result: { winner: "late" } });
    expect(await testWorkflow(raced, { signals: { s: () => 5 } })).toMatchObject({ result: { winner: "answer", value: 5 } });
  });
});

describe("signals that a workflow declares", () => {
  const onboard = workflow(
    { id: "user.onboard", signals: { approval: signal<{ ok: boolean }>(), note: signal<string>() } },
    async ({ step }) => {
      const { ok } = await step.waitForSignal("approval", { signal: "approve.u1", timeout: "48h" });
      expectTypeOf(ok).toEqualTypeOf<boolean>();
      const note = await step.waitForSignal("note", { signal: "note.u1", timeout: "48h" });
      expectTypeOf(note).toEqualTypeOf<string>();
      expectTypeOf(await step.waitForSignal("other", { signal: "other.u1", timeout: "48h" })).toEqualTypeOf<unknown>();
      return { ok, note };
    },
  );

  test("have the types of their payloads in the step of their name", async () => {
    const signals = { "approve.u1": { ok: true }, "note.u1": "welcome", "other.u1": null };
    const run = await testWorkflow(onboard, { signals });
    expectTypeOf(run.result).toEqualTypeOf<{ ok: boolean; note: string } | null>();
    expect(run).toMatchObject({ status: "completed", result: { ok: true, note: "welcome" } });
  });

  test("are completed by the workflow's definition of them", async () => {
    const requests: { url: string; body: unknown }[] = [];
    const fetch = async (url: unknown, init?: RequestInit) => {
      requests.push({ url: String(url), body: JSON.parse(String(init?.body)) });
      return Response.json({ signal: "approve.u1", runId: "run_1" });
    };
    const client = new Tidemill({ url: "http://service.test", key: "svc_ws_key", fetch: fetch as typeof globalThis.fetch });
    expect(await client.signal(onboard.signals.approval, "approve.u1", { ok: true })).toEqual({ signal: "approve.u1", runId: "run_1" });
    expect(requests).toEqual([{ url: "http://service.test/v1/signals/approve.u1/complete", body: { ok: true } }]);
    expect(() => client.signal({} as never, "approve.u1", null)).toThrow("The first argument of signal must be made by signal(), not {}.");
    // @ts-expect-error: `ok` is a boolean.
    const wrong = () => client.signal(onboard.signals.approval, "approve.u1", { ok: "yes" });
    // @ts-expect-error: the workflow declares no such signal.
    const unknown = () => client.signal(onboard.signals.aproval, "approve.u1", { ok: true });
    expect([wrong, unknown]).toHaveLength(2);
  });

  test("are checked where they are written", () => {
    const build = (signals: unknown) => () => workflow({ id: "w", signals: signals as never }, () => {});
    expect(build([])).toThrow("signals of the workflow w must be an object such as { approval: signal<{ ok: boolean }>() }, not [].");
    expect(build({ approval: "approval" })).toThrow('signals.approval of the workflow w must be made by signal(), not "approval".');
    expect(workflow({ id: "w" }, () => {}).signals).toEqual({});
  });

  test("keep their types when the input comes from an event, a schema or an annotation", () => {
    const approval = signal<{ ok: boolean }>();
    const wait = { signal: "s", timeout: 1 };
    workflow({ id: "a", on: event<{ id: string }>("order.paid"), signals: { approval } }, async ({ input, step }) => {
      expectTypeOf(input).toEqualTypeOf<{ id: string }>();
      expectTypeOf(await step.waitForSignal("approval", wait)).toEqualTypeOf<{ ok: boolean }>();
    });
    workflow({ id: "b", input: z.object({ id: z.string() }), signals: { approval } }, async ({ input, step }) => {
      expectTypeOf(input).toEqualTypeOf<{ id: string }>();
      expectTypeOf(await step.waitForSignal("approval", wait)).toEqualTypeOf<{ ok: boolean }>();
    });
    const signals = { approval };
    const c = workflow({ id: "c", signals }, async ({ input, step }: WorkflowContext<{ id: string }, typeof signals>) => {
      expectTypeOf(await step.waitForSignal("approval", wait)).toEqualTypeOf<{ ok: boolean }>();
      return input.id;
    });
    expectTypeOf(c.types).toEqualTypeOf<{ readonly input: { id: string }; readonly result: string } | undefined>();
    workflow({ id: "d", signals }, async ({ input, step }: WorkflowContext<{ id: string }>) => {
      expectTypeOf(await step.waitForSignal("approval", { ...wait, of: approval })).toEqualTypeOf<{ ok: boolean }>();
      return input.id;
    });
  });
});

test("the id of a signal is checked before it is asked for", async () => {
  const run = new MemoryRun(({ step }) => step.signal("ask", { signal: "" }));
  expect(await run.execute()).toMatchObject({ outcome: "failed", error: expect.stringContaining("1 to 256 characters") });
});

test("a wait has the type of its signal's payload", () => {
  workflow({ id: "typed" }, async ({ step }) => {
    expectTypeOf(await step.waitForSignal("a", { signal: "s", timeout: 1, of: approval })).toEqualTypeOf<{ ok: boolean }>();
    expectTypeOf(await step.waitForSignal("b", { signal: "s", timeout: 1 })).toEqualTypeOf<unknown>();
    // @ts-expect-error a wait needs a timeout
    await step.waitForSignal("c", { signal: "s" });
  });
});
