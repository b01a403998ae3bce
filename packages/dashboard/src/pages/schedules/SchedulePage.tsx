import { useParams } from "@tanstack/react-router";
import type { Schedule } from "@tidemill/contract";
import type { Read } from "../../api/raw-json.ts";
import { useRecord } from "../../api/use-record.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { JsonText } from "../../ui/json/JsonText.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Section } from "../../ui/Section.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { inWords } from "./in-words.ts";
import { MonthCalendar } from "./MonthCalendar.tsx";
import { NextRuns } from "./NextRuns.tsx";
import { ScheduleActions } from "./ScheduleActions.tsx";
import { SkippedTicks } from "./SkippedTicks.tsx";
import { toneOf } from "./state.ts";

/** A schedule: when it runs, what it enqueues, and the ticks that it skipped. */
export default function SchedulePage() {
  const { schedule: name = "" } = useParams({ strict: false }) as { schedule?: string };
  const { data, error, refetch } = useRecord<Schedule>("schedules", `/schedules/${encodeURIComponent(name)}`);
  return (
    <PageFrame
      title={name}
      above={<WsLink to="schedules">Schedules</WsLink>}
      beside={data && <StateBadge state={data.state} tone={toneOf(data.state)} />}
      actions={data && <ScheduleActions schedule={data} />}
    >
      {error ? (
        <ErrorState error={error} what="the schedule" onRetry={refetch} />
      ) : !data ? (
        <LoadingState what="the schedule" />
      ) : (
        <>
          <ScheduleFacts schedule={data} />
          <NextRuns cron={data.cron} timezone={data.timezone} paused={data.state === "paused"} />
          <MonthCalendar cron={data.cron} timezone={data.timezone} />
          <Section title="Payload">
            <JsonText value={data.payload} label="payload" none="null" />
          </Section>
          <SkippedTicks name={name} timezone={data.timezone} />
        </>
      )}
    </PageFrame>
  );
}

const CATCH_UP = { none: "none of them", last: "the last one", all: "all of them, at most 1,000" } as const;

function ScheduleFacts({ schedule }: { schedule: Read<Schedule> }) {
  const { cron, timezone, queue, tag, priority, concurrencyKey, attempts, overlap, catch_up, last_run_at, last_job_id, updated_at } =
    schedule;
  return (
    <Facts
      facts={[
        ["When", inWords(cron)],
        ["Pattern", <code key="cron">{cron}</code>],
        ["Time zone", timezone],
        [
          "Queue",
          <WsLink key="queue" to="queues/$queue" params={{ queue }}>
            {queue}
          </WsLink>,
        ],
        ["Last run", <Time key="last" at={last_run_at} />],
        last_job_id === null
          ? null
          : [
              "Last job",
              <WsLink key="job" to="jobs/$job" params={{ job: last_job_id }}>
                {last_job_id}
              </WsLink>,
              "wide",
            ],
        tag === null ? null : ["Tag", tag],
        ["Priority", priority],
        concurrencyKey === null ? null : ["Concurrency key", concurrencyKey],
        ["Attempts", attempts ?? "those of the queue"],
        ["While the job before is not finished", overlap === "skip" ? "ticks are skipped" : "a tick enqueues another one"],
        ["Ticks missed in a downtime", `run afterwards: ${CATCH_UP[catch_up]}`],
        ["Changed", <Time key="updated" at={updated_at} />],
      ]}
    />
  );
}
