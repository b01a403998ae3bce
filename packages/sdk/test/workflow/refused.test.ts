import type { ReportedStep } from "@tidemill/contract";
import { TidemillError } from "@tidemill/sdk";
import { describe, expect, test } from "vitest";
import { type Outcome, withoutContent, workOutcome } from "../../src/worker/outcomes.ts";
import { nextTurn } from "../../src/workflow/event-loop.ts";
import { notStored } from "../../src/workflow/not-stored.ts";
import { MemoryRun } from "./memory-journal.ts";

const step = (key: string): ReportedStep => ({ key, type: "run", status: "completed", output: 1 });
const STEPS = [step("a"), step("b")];

/** What is reported of a run in place of an outcome that the service refuses with this message. */
const inPlaceOf = (outcome: Outcome, message: string): Outcome | undefined =>
  withoutContent(workOutcome({ id: "run_1", lease_token: "t" }, outcome), message)?.outcome;
const failed = (error: string) => ({ outcome: "failed", error_name: "Error", retry: false, error });

describe("a run whose outcome is refused fails, and its error says why", () => {
  test("of a step, by its key", () => {
    expect(inPlaceOf({ outcome: "suspended", steps: STEPS }, "settle[0].steps[1].sleepFor must be less.")).toEqual({
      ...failed('The service refused step "b": sleepFor must be less.'),
      steps: [step("a")],
    });
    expect(inPlaceOf({ outcome: "completed", result: "1", steps: [step("a")] }, "steps[0].key must be shorter.")).toEqual(
      failed('The service refused step "a": key must be shorter.'),
    );
  });

  test("of the result, without the place in a call that nobody sees", () => {
    expect(inPlaceOf({ outcome: "completed", result: "1" }, "settle[0].result is nested too deep.")).toEqual(
      failed("The service refused the result of the workflow: result is nested too deep."),
    );
  });

  test("of steps that it has reported with its failure: it keeps its error, and may be tried again", () => {
    const outcome = { outcome: "failed", error: "No answer.", error_name: "FetchError" } as const;
    expect(inPlaceOf({ ...outcome, steps: [step("a")] }, "steps[0].key must be shorter.")).toEqual(outcome);
    expect(inPlaceOf({ ...outcome, steps: STEPS }, "steps[0].key must be shorter.")).toEqual({ ...outcome, steps: [step("b")] });
  });

  test("and keeps the outcomes beside the step: not those that wait, and after it only what steps returned", () => {
    const other = { type: "run", status: "failed", error: { name: "Error", message: "No." } } as const;
    const steps: ReportedStep[] = [
      { key: "failed", ...other },
      { key: "now", type: "value", status: "completed", output: 1 },
      { key: "lost", type: "sleep", status: "cancelled" },
      { key: "call", type: "http", status: "waiting", http: { url: "https://example.com/" } },
      { key: "next", type: "value", status: "completed", output: 1 },
      step("a"),
      { key: "also failed", ...other },
      { key: "also lost", type: "sleep", status: "cancelled" },
      { key: "nap", type: "sleep", status: "waiting", sleepFor: 1 },
    ];
    const outcome = inPlaceOf({ outcome: "suspended", steps }, "steps[3].http.url is not allowed.") as { steps?: ReportedStep[] };
    expect(outcome.steps?.map(({ key }) => key)).toEqual(["failed", "now", "lost", "a"]);
  });
});

test("of a step that is stored beside another, and refused when that has ended, the run fails with the error and keeps the outcome", async () => {
  const ended = Promise.withResolvers<void>();
  const run = new MemoryRun(({ step }) =>
    Promise.all([step.run("work", () => ended.promise), step.http("call", { url: "https://example.com/" })]),
  );
  const store = async () => {
    ended.resolve();
    await nextTurn();
    await nextTurn();
    throw new TidemillError({ code: "VALIDATION_ERROR", message: "steps[0].http.url is not allowed.", status: 400 });
  };
  expect(await run.execute({ store })).toEqual({
    ...failed('The service refused step "call": http.url is not allowed.'),
    error_name: "NonRetryableError",
    retry_steps: [],
    steps: [expect.objectContaining({ key: "work", status: "completed" })],
  });
});

describe("a run whose workflow returns while a step is stored", () => {
  /** Executes a run that stores a step, whose workflow then returns, and whose store ends by `end` after that. */
  async function returnsBefore(end: (run: MemoryRun) => void) {
    const stores = Promise.withResolvers<void>();
    const run = new MemoryRun(async ({ step }) => {
      await Promise.all([step.run("charge", () => 1), step.run("other", () => stores.promise)]);
      return "done";
    });
    let calls = 0;
    const store = async (steps: readonly ReportedStep[]) => {
      calls += 1;
      if (calls === 1) {
        stores.resolve();
        for (let turns = 0; turns < 5; turns += 1) await nextTurn();
        end(run);
      }
      run.append(steps);
      return [];
    };
    return { run, outcome: await run.execute({ store }) };
  }
  const full = new TidemillError({
    code: "PAYLOAD_TOO_LARGE",
    status: 413,
    message: "The journal has no room.",
    details: { limit_steps: 10_000, limit_bytes: 1 },
  });
  const refuse = (error: TidemillError) => () => {
    throw error;
  };

  test("completes when it has been stored", async () => {
    const { run, outcome } = await returnsBefore(() => {});
    expect(outcome).toMatchObject({ outcome: "completed", result: "done" });
    expect(run.keys).toEqual(["charge", "other"]);
  });

  test("fails when there is no room for it, and keeps what completed beside it", async () => {
    const { run, outcome } = await returnsBefore(refuse(full));
    expect(outcome).toMatchObject({ outcome: "failed", error_name: "JournalTooLargeError", retry: false });
    expect(run.keys).toEqual(["other"]);
  });

  test("fails when it is refused", async () => {
    const error = new TidemillError({ code: "VALIDATION_ERROR", message: "steps[0].output is nested too deep.", status: 400 });
    const { outcome } = await returnsBefore(refuse(error));
    expect(outcome).toMatchObject({
      ...failed('The service refused step "charge": output is nested too deep.'),
      error_name: "NonRetryableError",
    });
  });

  test("is not failed by this worker when it is lost", async () => {
    const lost = new TidemillError({ code: "LEASE_LOST", message: "The lease is lost.", status: 409 });
    const { outcome } = await returnsBefore((run) => {
      run.controller.abort(lost);
      throw lost;
    });
    expect(outcome).not.toMatchObject({ outcome: "failed" });
  });
});

test("what the workflow asked for because of an outcome is forgotten with it, when that is refused", async () => {
  const asked = Promise.withResolvers<void>();
  const run = new MemoryRun(async ({ step, run: { now } }) => {
    await step.run("a", () => 1);
    await nextTurn();
    now();
    asked.resolve();
    await step.run("b", () => 2);
  });
  const store = async () => {
    await asked.promise;
    throw new TidemillError({ code: "VALIDATION_ERROR", message: "steps[0].output is nested too deep.", status: 400 });
  };
  expect(await run.execute({ store })).not.toHaveProperty("steps");
  expect(await run.execute()).toMatchObject({ outcome: "completed" });
});

test("of several steps that could not be stored, the error names the one that was refused", () => {
  const refused = (message: string) => new TidemillError({ code: "VALIDATION_ERROR", message, status: 400 });
  expect(notStored(STEPS, refused("steps[1].output is nested too deep.")).message).toBe(
    'The service refused step "b": output is nested too deep.',
  );
  expect(notStored(STEPS, refused("Refused.")).message).toBe('The outcome of step "a", "b" could not be stored: Refused.');
});
