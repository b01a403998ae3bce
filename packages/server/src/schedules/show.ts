import type { Schedule as ScheduleRecord } from "@tidemill/contract";
import { showJobId } from "#jobs";
import { toMoment } from "#kernel";
import type { Schedule } from "./schedule.ts";

/** The record as the API shows it, without its payload. */
export const recordOf = (schedule: Schedule): Omit<ScheduleRecord, "payload"> => ({
  name: schedule.name,
  queue: schedule.queue,
  cron: schedule.cron,
  timezone: schedule.timezone,
  tag: schedule.tag,
  priority: schedule.priority,
  concurrencyKey: schedule.concurrency_key,
  attempts: schedule.attempts,
  overlap: schedule.overlap,
  catch_up: schedule.catch_up,
  state: schedule.paused ? "paused" : "active",
  next_run_at: schedule.next_run_at,
  last_run_at: schedule.last_run_at,
  last_job_id: schedule.last_job_id && showJobId(schedule.last_job_id),
  last_skip: lastSkipOf(schedule),
  created_at: schedule.created_at,
  updated_at: schedule.updated_at,
});

/** The record as JSON text. The payload is inserted as the caller sent it. */
export function showSchedule(schedule: Schedule): string {
  const { name, queue, cron, timezone, ...rest } = recordOf(schedule);
  const before = JSON.stringify({ name, queue, cron, timezone }).slice(0, -1);
  return `${before},"payload":${schedule.payload},${JSON.stringify(rest).slice(1)}`;
}

function lastSkipOf({ last_skip_at, last_skip_reason }: Schedule): ScheduleRecord["last_skip"] {
  return last_skip_at === null || last_skip_reason === null ? null : { scheduled_for: last_skip_at, reason: last_skip_reason };
}

const MINUTE_MS = 60_000;
const SECONDS_AT = "2026-11-21T09:30:00".length;

/** A moment in local time: RFC 3339 with the offset. `offsetMs` is how far local clocks are ahead of UTC. */
export function showLocal(ms: number, offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / MINUTE_MS);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0"));
  return `${toMoment(ms + offsetMs).slice(0, SECONDS_AT)}${offsetMs < 0 ? "-" : "+"}${hours}:${rest}`;
}
