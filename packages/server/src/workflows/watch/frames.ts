import { createHash } from "node:crypto";
import { chunksOf } from "#http";
import { type JsonParts, lengthOfParts, type SlicedWork } from "#kernel";
import { type RunDetails, type RunWithData, STEPS_IN_A_SLICE, showListedRun, showRun, showStep } from "../runs/run.ts";
import { type EventCursor, showEventCursor } from "./cursor.ts";
import type { PlacedStep } from "./store.ts";

/** What one read of a run has found. Each reader gets the parts that it does not have. */
export interface RunSnapshot {
  readonly run: RunWithData;
  /** The steps after the change of the journal that the reader furthest behind had; the whole journal if `whole` is there. */
  readonly steps: readonly PlacedStep[];
  /** Further parts of the whole run, if a reader needs it. */
  readonly whole: Omit<RunDetails, "steps"> | null;
}

/** How long a client waits before it connects again. Milliseconds. */
const RETRY_MS = 1_000;
const END = "\n\n";

/** Whether a reader needs the whole run: it has nothing, or the journal was renumbered since. */
export const needsWhole = (cursor: EventCursor | null, { retries, last_seq: last }: Pick<RunWithData, "retries" | "last_seq">): boolean =>
  cursor === null || cursor.retries !== retries || cursor.steps > last;

/** An event as it is sent. */
export interface Frame {
  /** The lines before its data. */
  readonly head: string;
  readonly data: JsonParts;
}

/** The events that a reader with this cursor lacks, and its next cursor. */
export function* framesFor(
  cursor: EventCursor | null,
  { run, steps, whole }: RunSnapshot,
): SlicedWork<{ frames: Frame[]; cursor: EventCursor }> {
  const status = `${JSON.stringify(showListedRun(run)).slice(0, -1)},"result":${run.result ?? "null"}}`;
  const progress = run.progress ?? "null";
  const last = { retries: run.retries, steps: run.last_seq, status: digestOf(status), progress: digestOf(progress) };
  if (cursor === null || needsWhole(cursor, run)) {
    const shown = yield* showRun(run, {
      calls: [],
      hookErrors: [],
      unfit: null,
      keptFor: null,
      undo: null,
      ...whole,
      steps: ordered(steps),
    });
    const { head, data } = frame("run", last, shown);
    return { frames: [{ head: `retry: ${RETRY_MS}\n${head}`, data }], cursor: last };
  }
  let at = cursor;
  const frames: Frame[] = [];
  for (const [index, step] of steps.entries()) {
    if (index % STEPS_IN_A_SLICE === STEPS_IN_A_SLICE - 1) yield;
    if (step.changed_seq <= cursor.steps) continue;
    at = { ...at, steps: Math.min(step.changed_seq, run.last_seq) };
    frames.push(frame("step", at, showStep(step)));
  }
  at = { ...at, steps: run.last_seq };
  if (at.progress !== last.progress) {
    at = { ...at, progress: last.progress };
    frames.push(frame("progress", at, [`{"progress":${progress}}`]));
  }
  // The status is last, so that it ends the stream of a run that has ended.
  if (at.status !== last.status) frames.push(frame("status", last, [status]));
  return { frames, cursor: last };
}

/** The steps in the order in which a journal is shown. */
const ordered = (steps: readonly PlacedStep[]): PlacedStep[] =>
  steps.toSorted((one, other) => Number(one.status === "waiting") - Number(other.status === "waiting") || one.seq - other.seq);

/** The approximate length of events as text. Characters. */
export const lengthOfFrames = (frames: readonly Frame[]): number => frames.reduce((sum, { data }) => sum + lengthOfParts(data), 0);

/** The text of short events. */
export const textOf = (frames: readonly Frame[]): string =>
  frames.map(({ head, data }) => `${head}${data.map(singleLine).join("")}${END}`).join("");

/** The text of long events, in chunks. */
export function* chunksOfFrames(frames: readonly Frame[]): Generator<string, void> {
  for (const { head, data } of frames) {
    yield head;
    for (const chunk of chunksOf(data)) yield singleLine(chunk);
    yield END;
  }
}

const frame = (event: string, cursor: EventCursor, data: JsonParts): Frame => ({
  head: `event: ${event}\nid: ${showEventCursor(cursor)}\ndata: `,
  data,
});

/** Values are stored as their senders wrote them, perhaps with white space between tokens. */
const singleLine = (json: string): string => (/[\r\n]/.test(json) ? json.replaceAll(/[\r\n]+/g, " ") : json);

const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 8);
