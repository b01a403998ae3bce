import type { AuditEvent, Schedule } from "@tidemill/contract";
import { RawJson, type Read } from "../../api/raw-json.ts";

/** Ticks that made no job. */
export interface Skip {
  /** The last of them. */
  readonly at: string;
  readonly reason: string;
  readonly count: number;
}

export const WHY: Readonly<Record<string, string>> = {
  overlap: "An earlier job of the schedule had not finished.",
  quota: "The month's executions were used up.",
  catch_up: "It was missed in a downtime, and missed ticks do not all run afterwards.",
  unreadable: "The node did not know the time zone. It tries again after an hour.",
};

/** The skips of a schedule: those in the audit log, and the newest, which may have another reason. */
export function skipsOf({ name, last_skip }: Read<Schedule>, events: readonly Read<AuditEvent>[]): Skip[] {
  const audited = events.flatMap((event) =>
    event.resource_type === "schedule" && event.resource_id === name ? (readSkip(event) ?? []) : [],
  );
  const isKnown = last_skip === null || audited.some(({ reason, at }) => reason === last_skip.reason && at >= last_skip.scheduled_for);
  return isKnown ? audited : [{ at: last_skip.scheduled_for, reason: last_skip.reason, count: 1 }, ...audited];
}

/** The service has written it. */
function readSkip({ output }: Read<AuditEvent>): Skip | null {
  if (!(output instanceof RawJson)) return null;
  const { reason, ticks, last } = JSON.parse(output.text) as { reason?: string; ticks?: number; last?: string };
  return reason === undefined || last === undefined ? null : { at: last, reason, count: ticks ?? 1 };
}
