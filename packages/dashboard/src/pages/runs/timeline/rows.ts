import type { Run, RunStep } from "@tidemill/contract";
import type { RawJson, Read } from "../../../api/raw-json.ts";
import { readJson } from "../../../api/read-json.ts";
import { toMs } from "../../../time/clock.ts";
import type { Span } from "./fold-idle.ts";

export type RunRecord = Read<Run>;
export type StepRecord = Read<RunStep>;

/** A row of a run's timeline. */
export interface TimelineRow {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly status: string;
  readonly span: Span;
  /** Whether it ends later than now. */
  readonly isOpen: boolean;
  /** Whether time passes in it without work. */
  readonly isIdle: boolean;
  readonly note: string;
  readonly step: StepRecord | null;
}

const IDLE = new Set<string>(["sleep", "wait", "signal", "invoke"]);

const KINDS: Readonly<Record<string, string>> = {
  run: "step",
  value: "value",
  sleep: "sleep",
  event: "sends an event",
  signal: "registers a signal",
  wait: "waits for a signal",
  http: "HTTP call",
  invoke: "invokes a workflow",
  undo: "undo",
};

/** The rows of a run: its steps in the order in which they began, then errors of hooks and undos, and what comes next. */
export function rowsOf(run: RunRecord, nowMs: number): TimelineRow[] {
  const steps = run.steps.map((step) => rowOfStep(step, nowMs)).sort((a, b) => a.span.from - b.span.from);
  const hooks = run.hookErrors.map(({ hook, message, occurredAt }, at) => failure(`hook ${at}`, hook, "hook", message, occurredAt));
  const undos = run.undoErrors.map(({ step, message, occurredAt }, at) => failure(`undo ${at}`, step, "undo", message, occurredAt));
  return [...steps, ...undos, ...hooks, ...nextAttempt(run, nowMs)];
}

function rowOfStep(step: StepRecord, nowMs: number): TimelineRow {
  const { key, type, status, attempt, startedAt, endedAt, wakeAt, error, signal } = step;
  const from = toMs(startedAt);
  const isOpen = endedAt === null;
  const to = endedAt !== null ? toMs(endedAt) : type === "sleep" && wakeAt !== null ? toMs(wakeAt) : Math.max(nowMs, from);
  const notes = [attempt > 1 ? `attempt ${attempt}` : "", error ? `${error.name}: ${error.message}` : "", signal ?? ""];
  return {
    id: key,
    name: key,
    kind: KINDS[type] ?? type,
    status,
    span: { from, to: Math.max(from, to) },
    isOpen,
    isIdle: IDLE.has(type),
    note: notes.filter(Boolean).join(" · "),
    step,
  };
}

function failure(id: string, name: string, kind: string, note: string, occurredAt: string): TimelineRow {
  const at = toMs(occurredAt);
  return { id, name, kind, status: "failed", span: { from: at, to: at }, isOpen: false, isIdle: false, note, step: null };
}

function nextAttempt({ nextAttemptAt, error, attempt, attempts }: RunRecord, nowMs: number): TimelineRow[] {
  if (nextAttemptAt === null) return [];
  return [
    {
      id: "next attempt",
      name: `Attempt ${attempt} of ${attempts}`,
      kind: "waits for its next attempt",
      status: "waiting",
      span: { from: nowMs, to: Math.max(nowMs, toMs(nextAttemptAt)) },
      isOpen: true,
      isIdle: true,
      note: error ? `${error.name}: ${error.message}` : "",
      step: null,
    },
  ];
}

/** The runs that a step has started: a child, or those of an event. */
export function runsOfStep({ type, output }: StepRecord): readonly string[] {
  if (output === null || output === undefined || (type !== "invoke" && type !== "event")) return [];
  const { runId, runIds } = readJson((output as RawJson).text) as { runId?: unknown; runIds?: unknown };
  return [runId, ...(Array.isArray(runIds) ? runIds : [])].filter((id): id is string => typeof id === "string");
}
