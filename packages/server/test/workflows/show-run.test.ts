import { describe, expect, test } from "vitest";
import { type RunId, type SlicedWork, toMoment } from "#kernel";
import type { LaneId } from "#lanes";
import { type RunWithData, type StepRow, showJournal, showRun } from "../../src/workflows/runs/run.ts";

const AT = toMoment(Date.UTC(2026, 10, 21));
const step = (key: string, more: Partial<StepRow> = {}): StepRow => ({
  ...{ key, type: "run", status: "completed", output: '{"n":1}', error: null, attempt: 1, started_at: AT, ended_at: AT },
  ...{ wake_at: null, signal: null, child_run_id: null, undoable: false },
  ...more,
});
const sleeping = (key: string) => step(key, { type: "sleep", status: "waiting", output: null, ended_at: null, wake_at: AT });
const keys = Array.from({ length: 1_000 }, (_, at) => `s${at}`);

/** The result of a work, and in how many slices it was made. */
function sliced<Result>(work: SlicedWork<Result>): { result: Result; slices: number } {
  for (let slices = 1; ; slices += 1) {
    const { done, value } = work.next();
    if (done) return { result: value, slices };
  }
}

describe("a journal", () => {
  test("is shown in slices, and short values are one string", () => {
    const { result, slices } = sliced(showJournal(keys.map((key) => step(key))));
    expect(slices).toBe(21);
    expect(result).toHaveLength(21);
    expect(JSON.parse(result.join("")).map(({ key }: { key: string }) => key)).toEqual(keys);
  });

  test("has long values as strings of their own", () => {
    const output = JSON.stringify("x".repeat(10_000));
    const { result } = sliced(showJournal([step("a"), step("b", { output }), step("c", { output })]));
    expect(result.filter((part) => part === output)).toHaveLength(2);
    expect(JSON.parse(result.join("")).map((one: { output: unknown }) => one.output)).toEqual([
      { n: 1 },
      JSON.parse(output),
      JSON.parse(output),
    ]);
  });

  test("may be empty", () => {
    expect(sliced(showJournal([])).result.join("")).toBe("[]");
  });
});

test("what a run waits for is shown in slices, too", () => {
  const run: RunWithData = {
    ...{ id: "01994a5b-0000-7000-8000-000000000000" as RunId, lane_id: 1 as LaneId, workflow: "w", status: "waiting", version: "v1" },
    ...{ failures: 0, attempts: 3, error: null, trigger: '{"type":"api"}', parent_run_id: null, idempotency_key: null },
    ...{ next_attempt_at: null, created_at: AT, started_at: AT, ended_at: null, input: "1", result: null, progress: null },
    ...{ last_seq: 1_000, journal_bytes: 0, bytes: 0, retries: 0 },
  };
  const details = { calls: [], hookErrors: [], unfit: null, keptFor: "v1", undo: null, steps: keys.map(sleeping) };
  const { result, slices } = sliced(showRun(run, details));
  expect(slices).toBe(41);
  const { waitingFor, steps } = JSON.parse(result.join(""));
  expect(waitingFor).toEqual([{ type: "worker", version: "v1" }, ...keys.map((key) => ({ type: "sleep", step: key, until: AT }))]);
  expect(steps).toHaveLength(1_000);
});
