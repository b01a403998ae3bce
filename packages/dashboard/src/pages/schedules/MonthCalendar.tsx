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

type PreviewedDay = NonNullable<SchedulePreview["days"]>[number];

const WEEK = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** The runs of a month by the clocks of the schedule's zone, with the days on which these are changed. */
export function MonthCalendar({ cron, timezone }: { cron: string; timezone: string }) {
  const now = monthNow(timezone);
  const [month, setMonth] = useState(now);
  const days = daysOf(month, timezone);
  const query = { cron, timezone, count: 1, from: toMoment(startOfDay(`${month}-01`, timezone)), days: days.length };
  const { data, error, refetch } = useRecord<SchedulePreview>("settled", "/schedules/preview", { query });
  const runs = new Map(data?.days?.map((of) => [of.day, of]));
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
          <ActionIcon aria-label="Previous month" disabled={month <= now} onClick={() => setMonth(monthAfter(month, -1))}>
            <span className={classes.back}>
              <Icon name="chevronRight" />
            </span>
          </ActionIcon>
          <output>{month}</output>
          <ActionIcon aria-label="Next month" onClick={() => setMonth(monthAfter(month, 1))}>
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
                    <Runs of={runs.get(cell.day)} timezone={timezone} />
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
function Runs({ of, timezone }: { of: PreviewedDay | undefined; timezone: string }) {
  if (!of || of.first_at === null || of.last_at === null) return null;
  const [first, last] = [of.first_at, of.last_at].map((at) => formatClock(toMs(at), timezone).replace(/:00$/, ""));
  return (
    <div className={classes.runs} title={of.runs === 1 ? undefined : `${first} to ${last}`}>
      {of.runs === 1 ? first : `${of.runs.toLocaleString("en")} runs`}
    </div>
  );
}

/** From 0, Monday. */
const weekdayOf = (day: string): number => (Math.floor(toMs(`${day}T00:00:00Z`) / 86_400_000) + 3) % 7;
