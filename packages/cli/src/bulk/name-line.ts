import { TidemillError } from "@tidemill/sdk";
import { LineError } from "./lines.ts";

/** The error of a batch, with the line of the job that it names. */
export function nameLine(error: unknown, lineOf: (at: number) => number | undefined): unknown {
  if (!(error instanceof TidemillError)) return error;
  const { issues = [], path, index } = error.details as { issues?: { path: string; message: string }[]; path?: string; index?: number };
  const issue = issues[0] ?? (path === undefined ? undefined : { path, message: error.message });
  const [, at, field = ""] = /^jobs\[(\d+)\]\.?(.*)$/.exec(issue?.path ?? "") ?? [];
  const line = lineOf(at === undefined ? (index ?? -1) : Number(at));
  if (line === undefined) return error;
  return new LineError(line, issue && issues.length > 0 ? `${field} ${issue.message}`.trim() : error.message);
}
