import { ActionIcon } from "@mantine/core";
import type { SchedulePreview } from "@tidemill/contract";
import { useState } from "react";
import { useRecord } from "../../api/use-record.ts";
import { nowMs, toMoment, toMs } from "../../time/clock.ts";
import { formatClock, formatDay } from "../../time/format.ts";
import { type CalendarDay, daysOf, monthAfter, monthNow, startOfDay } from "../../time/months.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { Section } from "../../ui/Section.tsx";
import classes from "./schedules.module.css";

/** What one request previews. A pattern with more runs in a month is shown up to there. */
const MAX_RUNS = 100;
const WEEK = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** The runs of a month by the clocks of the schedule's zone, with the days on which these are changed. */
export function MonthCalendar({ cron, timezone }: { cron: string; timezone: string }) {
  const now = monthNow(timezone);
  const [month, setMonth] = useState(now);
  const from = month === now ? nowMs() : startOfDay(`${month}-01`, timezone) - 1;
  // Rounded, so that the request stays the same while the page is open.
  const query = { cron, timezone, count: MAX_RUNS, from: toMoment(month === now ? Math.floor(from / 60_000) * 60_000 : from) };
  const { data, error, refetch } = useRecord<SchedulePreview>("settled", "/schedules/preview", { query });
  const runs = Map.groupBy(data?.runs ?? [], ({ local }) => local.slice(0, 10));
  // The day of the last run that was previewed may have more.
  const lastKnown = data && data.runs.length === MAX_RUNS ? (data.runs.at(-1)?.local.slice(0, 10) ?? null) : null;
  const days = daysOf(month, timezone);
  const shifts = days.filter(({ shiftMinutes }) => shiftMinutes !== 0);
  const before = Array.from({ length: weekdayOf(days[0]?.day ?? month) }, (_, at) => `before ${at}`);
  const cells: (CalendarDay | string)[] = [...before, ...days];
  const weeks = Array.from({ length: Math.ceil(cells.length / 7) }, (_, week) => cells.slice(week * 7, week * 7 + 7));
  const today = formatDay(nowMs(), timezone);
  return (
    <Section
      title={`Calendar, by the clocks of ${timezone}`}
      beside={
        <div className={classes.months}>
          <ActionIcon aria-label="The month before" disabled={month <= now} onClick={() => setMonth(monthAfter(month, -1))}>
            <span className={classes.back}>
              <Icon name="chevronRight" />
            </span>
          </ActionIcon>
          <output>{month}</output>
          <ActionIcon aria-label="The month after" onClick={() => setMonth(monthAfter(month, 1))}>
            <Icon name="chevronRight" />
          </ActionIcon>
        </div>
      }
    >
      {error ? <ErrorState error={error} what="the runs of the month" onRetry={refetch} /> : null}
      {shifts.map(({ day, shiftMinutes, shifted }) => (
        <p key={day} className={classes.note}>
          {shiftMinutes > 0
            ? `On ${day} the clocks go forward: the times ${shifted} do not exist. A run in them starts at the first moment after the gap.`
            : `On ${day} the clocks go back: the times ${shifted} occur twice. A run in them starts once, at the first. Patterns that fire every hour or more often run in both.`}
        </p>
      ))}
      {lastKnown !== null && (
        <p className={classes.note}>
          It runs so often that only the next {MAX_RUNS} runs are shown, up to {lastKnown}.
        </p>
      )}
      <table className={classes.month} aria-label={`Runs in ${month}`}>
        <thead>
          <tr>
            {WEEK.map((day) => (
              <th key={day} scope="col">
                {day}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map((week) => (
            <tr key={typeof week[0] === "string" ? week[0] : week[0]?.day}>
              {week.map((cell) =>
                typeof cell === "string" ? (
                  <td key={cell} />
                ) : (
                  <td key={cell.day} className={cell.day === today ? classes.today : undefined} data-past={cell.day < today || undefined}>
                    <div className={classes.day}>{Number(cell.day.slice(8))}</div>
                    <Runs runs={runs.get(cell.day) ?? []} timezone={timezone} more={cell.day === lastKnown} />
                    {lastKnown !== null && cell.day > lastKnown && <div className={classes.day}>not shown</div>}
                    {cell.shiftMinutes !== 0 && (
                      <div className={classes.shift}>{cell.shiftMinutes > 0 ? `gap ${cell.shifted}` : `twice ${cell.shifted}`}</div>
                    )}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

/** One time, or how many there are. */
function Runs({ runs, timezone, more }: { runs: readonly { run_at: string }[]; timezone: string; more: boolean }) {
  const [first] = runs;
  if (!first) return null;
  const clocks = runs.map(({ run_at }) => formatClock(toMs(run_at), timezone).replace(/:00$/, ""));
  return (
    <div className={classes.runs} title={clocks.join(", ")}>
      {runs.length === 1 ? clocks[0] : `${runs.length}${more ? " or more" : ""} runs`}
    </div>
  );
}

/** From 0, Monday. */
const weekdayOf = (day: string): number => (Math.floor(toMs(`${day}T00:00:00Z`) / 86_400_000) + 3) % 7;
