import type { Run } from "@tidemill/contract";
import { CHILD, INVOKED, invokedValue, PARENT, type ParentResult, type Trace } from "./crash-workflows.ts";

/** What is left when all runs have ended. */
export interface CrashOutcome {
  readonly runs: readonly Run[];
  readonly traces: readonly Trace[];
  /** By run, payloads that may have completed its signal. One that was acknowledged is the only one. */
  readonly payloads: ReadonlyMap<string, readonly string[]>;
}

const ORDER = /^first,second,third,approved,(?:left,right|right,left),(?:one,after one|other,after other),invoked,last$/;

const nameOf = (value: string): string => value.slice(0, value.lastIndexOf(" "));
const isPrefix = (part: readonly string[], whole: readonly string[]): boolean => part.every((value, at) => whole[at] === value);

/** Compares what the runs have with what the workers executed. Returns the differences. */
export function findCrashFaults({ runs, traces, payloads }: CrashOutcome): string[] {
  const parents = runs.filter(({ workflowId }) => workflowId === PARENT);
  const traced = Map.groupBy(traces, ({ run }) => run);
  return [
    ...parents.flatMap((run) => faultsOfParent(run, traced.get(run.runId) ?? [], payloads.get(run.runId) ?? [])),
    ...faultsOfChildren(
      parents,
      runs.filter(({ workflowId }) => workflowId === CHILD),
    ),
    ...faultsOfInvoked(
      parents,
      runs.filter(({ workflowId }) => workflowId === INVOKED),
    ),
  ];
}

/** What the faults did, in words. */
export function summariseCrash({ runs, traces }: CrashOutcome): string {
  const executed = traces.flatMap((trace) => (trace.kind === "step" ? [`${trace.run} ${trace.step}`] : []));
  const failed = runs.reduce((sum, { attempt }) => sum + attempt - 1, 0);
  const hooks = runs.reduce((sum, { hookErrors }) => sum + hookErrors.length, 0);
  return (
    `${runs.length} runs ended. ${failed} executions were lost, ${executed.length - new Set(executed).size} steps executed again, and ` +
    `${hooks} hooks reported as lost.\n`
  );
}

function faultsOfParent(run: Run, traces: readonly Trace[], payloads: readonly string[]): string[] {
  const { runId, status, error } = run;
  if (status !== "completed") return [`${runId} is ${status}: ${JSON.stringify(error)}`];
  const { appended } = run.result as ParentResult;
  const executed = traces.filter((trace) => trace.kind === "step");
  const known = new Set([...executed.map(({ value }) => value), ...payloads, invokedValue(runId)]);
  const forks = executed.filter(({ seen }) => !isPrefix(seen, appended));
  const journal = journalOf(run);
  return [
    ...(ORDER.test(appended.map(nameOf).join()) ? [] : [`${runId} has lost or reordered values: ${appended.join()}`]),
    ...(journal.join() === appended.join() ? [] : [`${runId} returned ${appended.join()}, but its journal has ${journal.join()}`]),
    ...appended.filter((value) => !known.has(value)).map((value) => `${runId} has a value that nobody made: ${value}`),
    ...forks.map(
      ({ step, seen }) => `${runId} has a fork: step "${step}" was executed after ${seen.join()}, but the run has ${appended.join()}`,
    ),
    ...faultsOfHook(run, traces.filter(({ kind }) => kind === "hook").length),
  ];
}

/** The values of the journal, without that of the step that lost its race. */
function journalOf({ steps, result }: Run): string[] {
  const { appended } = result as ParentResult;
  const loser = appended.some((value) => nameOf(value) === "after one") ? "other" : "one";
  return steps.flatMap(({ key, type, output }) => {
    if (type === "invoke") return [(output as { result: string }).result];
    return (type === "run" && key !== loser) || type === "wait" ? [output as string] : [];
  });
}

function faultsOfHook({ runId, hookErrors }: Run, fired: number): string[] {
  if (fired > 1) return [`The hook of ${runId} fired ${fired} times`];
  return fired === 0 && hookErrors.length === 0 ? [`The hook of ${runId} did not fire, and no error was recorded`] : [];
}

/** Each run has invoked one run. */
function faultsOfInvoked(parents: readonly Run[], invoked: readonly Run[]): string[] {
  const callers = new Set(invoked.map(({ parentRunId }) => parentRunId));
  return [
    ...(invoked.length === parents.length && callers.size === parents.length ? [] : [`${parents.length} runs invoked ${invoked.length}`]),
    ...invoked.filter(({ status }) => status !== "completed").map(({ runId, status }) => `${runId} is ${status}`),
  ];
}

/** The event of each run is sent once: it starts one run, and the workflow that sent it knows this one. */
function faultsOfChildren(parents: readonly Run[], children: readonly Run[]): string[] {
  const started = parents.flatMap(({ result }) => (result as ParentResult | null)?.started ?? []);
  const unknown = children.filter(({ runId }) => !started.includes(runId));
  const sources = new Set(children.map(({ result }) => result));
  return [
    ...(children.length === parents.length ? [] : [`${parents.length} events started ${children.length} runs`]),
    ...(sources.size === children.length ? [] : ["An event started two runs"]),
    ...unknown.map(({ runId }) => `${runId} was started by an event that no journal has`),
    ...children.filter(({ status }) => status !== "completed").map(({ runId, status }) => `${runId} is ${status}`),
  ];
}
