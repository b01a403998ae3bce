import { toMs, useNow } from "../../time/clock.ts";
import { formatDuration } from "../../time/format.ts";
import { StateBadge, type Tone } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import type { JobRecord } from "./job-record.ts";
import classes from "./jobs.module.css";

const TONES: Readonly<Record<string, Tone>> = { completed: "good", failed: "bad", lost: "bad", cancelled: "rest", released: "rest" };

interface Bar {
  readonly attempt: number;
  readonly startMs: number;
  readonly durationMs: number;
  readonly outcome: string;
}

/** The attempts of a job, each with its place between the first start and the last end. */
export function Attempts({ job }: { job: JobRecord }) {
  const now = useNow();
  const { attempts_log, state, started_at, attempt } = job;
  if (attempt === 0) return <p>It has not started yet.</p>;
  const bars: Bar[] = attempts_log.map((one) => ({
    attempt: one.attempt,
    startMs: toMs(one.started_at),
    durationMs: one.duration_ms,
    outcome: one.outcome,
  }));
  if (state === "active" && started_at)
    bars.push({ attempt, startMs: toMs(started_at), durationMs: Math.max(0, now - toMs(started_at)), outcome: "active" });
  const from = Math.min(...bars.map(({ startMs }) => startMs));
  const span = Math.max(1, ...bars.map(({ startMs, durationMs }) => startMs + durationMs - from));
  const entries = new Map(attempts_log.map((one) => [one.attempt, one]));
  return (
    <ol className={classes.attempts}>
      {bars.map(({ attempt: number, startMs, durationMs, outcome }) => {
        const entry = entries.get(number);
        return (
          <li key={`${number} ${startMs}`} className={classes.attempt}>
            <span>{number}</span>
            <StateBadge state={outcome} tone={TONES[outcome] ?? "info"} />
            <div className={classes.track} aria-hidden="true">
              <div
                className={classes.bar}
                data-outcome={outcome}
                style={{ left: `${(100 * (startMs - from)) / span}%`, width: `${(100 * durationMs) / span}%` }}
              />
            </div>
            <span>{formatDuration(durationMs)}</span>
            <span className={classes.attemptError}>
              <Time at={entry?.started_at ?? started_at} exact />
              {entry?.worker && ` by ${entry.worker}`}
              {entry?.status !== null && entry?.status !== undefined && ` · HTTP ${entry.status}`}
              {entry?.error && ` · ${entry.error.code}: ${entry.error.message}`}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
