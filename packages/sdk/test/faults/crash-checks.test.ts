import type { Run } from "@tidemill/contract";
import { expect, test } from "vitest";
import { type CrashOutcome, findCrashFaults } from "./crash-checks.ts";
import { CHILD, INVOKED, PARENT, type Trace } from "./crash-workflows.ts";

const APPENDED = ["first 1", "second 1", "third 1", "approved p:1", "right 1", "left 1", "one 1", "after one 1", "invoked p", "last 1"];

const traceOf = (value: string, seen: readonly string[]): Trace => ({
  kind: "step",
  run: "p",
  step: value.split(" ")[0] ?? "",
  seen,
  value,
});

const stepOf = (output: string) => {
  const key = output.slice(0, output.lastIndexOf(" "));
  if (key === "invoked") return { key, type: "invoke", output: { result: output, runId: "i" } } as Run["steps"][number];
  return { key, type: key === "approved" ? "wait" : "run", output } as Run["steps"][number];
};

const TRACES: readonly Trace[] = [
  ...APPENDED.filter((value) => !value.startsWith("approved") && !value.startsWith("invoked")).map((value) => traceOf(value, [])),
  { kind: "hook", run: "p" },
];

interface Changes {
  readonly run?: object;
  readonly child?: object;
  readonly invoked?: object;
  readonly traces?: readonly Trace[];
}

/** An outcome without faults, with some changes. */
function outcome({ run = {}, child = {}, invoked = {}, traces = TRACES }: Changes): CrashOutcome {
  const steps = [...APPENDED.map(stepOf), stepOf("other 1")];
  const parent = { runId: "p", workflowId: PARENT, status: "completed", steps, hookErrors: [], ...run };
  return {
    runs: [
      { result: { appended: APPENDED, started: ["c"] }, ...parent } as unknown as Run,
      { runId: "i", workflowId: INVOKED, status: "completed", parentRunId: "p", ...invoked } as Run,
      { runId: "c", workflowId: CHILD, status: "completed", result: "p", ...child } as Run,
    ],
    traces,
    payloads: new Map([["p", ["approved p:1"]]]),
  };
}

const withValues = (appended: readonly string[]) => ({
  run: { result: { appended, started: ["c"] }, steps: appended.map(stepOf) },
});
const changed = (from: string, to: readonly string[]) => withValues(APPENDED.flatMap((value) => (value === from ? to : [value])));

test.for<[string, Parameters<typeof outcome>[0], string | null]>([
  ["nothing when all is well", {}, null],
  ["a run that did not end", { run: { status: "running" } }, "p is running"],
  ["a value that was lost", changed("second 1", []), "p has lost or reordered values"],
  ["values in another order", changed("first 1", ["second 1", "first 1"]), "p has lost or reordered values"],
  ["a journal that differs from the result", { run: { steps: APPENDED.slice(1).map(stepOf) } }, "but its journal has second 1"],
  ["a value that nobody made", changed("last 1", ["last 2"]), "p has a value that nobody made: last 2"],
  ["a payload that was not sent", changed("approved p:1", ["approved p:2"]), "nobody made: approved p:2"],
  ["a fork", { traces: [...TRACES, traceOf("third 2", ["first 1", "second 2"])] }, 'step "third" was executed after first 1,second 2'],
  ["a hook that fired twice", { traces: [...TRACES, { kind: "hook", run: "p" }] }, "The hook of p fired 2 times"],
  ["a hook that did not fire", { traces: TRACES.slice(0, -1) }, "The hook of p did not fire"],
  ["nothing when the hook's error was recorded", { traces: TRACES.slice(0, -1), run: { hookErrors: [{ hook: "onSuccess" }] } }, null],
  ["an invoked run that did not end", { invoked: { status: "waiting" } }, "i is waiting"],
  ["a run that was not invoked", { invoked: { workflowId: "other" } }, "1 runs invoked 0"],
  ["an event that no journal has", { child: { runId: "d" } }, "d was started by an event that no journal has"],
])("the crash test finds %s", ([, changes, fault]) => {
  const found = findCrashFaults(outcome(changes));
  if (fault === null) expect(found).toEqual([]);
  else expect(found).toContainEqual(expect.stringContaining(fault));
});
