import { randomUUID } from "node:crypto";

/**
 * A run of `tidemill enqueue` over lines, and the line at which to resume. The idempotency key of each line is made of the run's id and the
 * line's number, so no line is enqueued twice, wherever a run ended.
 */
export interface ResumePoint {
  readonly run: string;
  /** From 1. */
  readonly line: number;
}

export const newRun = (): ResumePoint => ({ run: randomUUID(), line: 1 });

export const showResumePoint = ({ run, line }: ResumePoint): string => `${run}@${line}`;

/** Null when the text is not what `showResumePoint` wrote. */
export function readResumePoint(text: string): ResumePoint | null {
  const [, run, line] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})@([1-9]\d{0,14})$/.exec(text) ?? [];
  return run === undefined ? null : { run, line: Number(line) };
}
