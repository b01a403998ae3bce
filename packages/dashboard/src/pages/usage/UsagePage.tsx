import { ActionIcon, Progress, Table } from "@mantine/core";
import type { Usage } from "@tidemill/contract";
import type { Read } from "../../api/raw-json.ts";
import { useRecord } from "../../api/use-record.ts";
import { useFilters } from "../../app/use-filters.ts";
import { nowMs, toMoment, toMs } from "../../time/clock.ts";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import { Days } from "./Days.tsx";
import { showCount, showPart } from "./numbers.ts";
import classes from "./usage.module.css";

/** Executions and attempts of a month. The month is in the address. */
export default function UsagePage() {
  const { values, set } = useFilters("period");
  const now = toMoment(nowMs()).slice(0, 7);
  const period = /^2\d{3}-(0[1-9]|1[0-2])$/.test(values.period) ? values.period : now;
  const { data, error, refetch } = useRecord<Usage>("settled", "/usage", { query: { period } });
  const go = (by: number) => set("period", monthAfter(period, by));
  return (
    <PageFrame
      title="Usage"
      actions={
        <div className={classes.period}>
          <ActionIcon aria-label="Previous month" onClick={() => go(-1)}>
            <span className={classes.back}>
              <Icon name="chevronRight" />
            </span>
          </ActionIcon>
          <output>{period}</output>
          <ActionIcon aria-label="Next month" disabled={period >= now} onClick={() => go(1)}>
            <Icon name="chevronRight" />
          </ActionIcon>
        </div>
      }
    >
      {error ? (
        <ErrorState error={error} what="the usage" onRetry={refetch} />
      ) : !data ? (
        <LoadingState what="the usage" />
      ) : (
        <>
          <Quota usage={data} isNow={period === now} />
          {data.executions.total === 0 && data.attempts.total === 0 ? (
            <EmptyState title="Nothing was executed in this month">Each accepted job and each started run is one execution.</EmptyState>
          ) : (
            <>
              <Section title="By day, in UTC">
                <Days days={data.by_day} />
              </Section>
              <Queues queues={data.by_queue} />
            </>
          )}
        </>
      )}
    </PageFrame>
  );
}

function Quota({ usage: { plan, period, executions, attempts }, isNow }: { usage: Read<Usage>; isNow: boolean }) {
  const { total, limit, remaining, jobs, schedules, workflows } = executions;
  const part = limit === null || limit === 0 ? 0 : Math.min(100, (total / limit) * 100);
  const failed = attempts.total === 0 ? "" : `, ${showPart(attempts.failed, attempts.total)}`;
  return (
    <>
      <p className={classes.total}>
        <strong>{showCount(total)}</strong> {limit === null ? "executions, without a limit" : `of ${showCount(limit)} executions`}
      </p>
      {limit !== null && (
        <Progress
          value={part}
          color={part >= 100 ? "red" : part >= 80 ? "yellow" : "tide"}
          aria-label={`${showPart(total, limit)} of the executions are used`}
          mb="sm"
        />
      )}
      <Facts
        facts={[
          ["Plan", plan],
          remaining === null ? null : ["Left", showCount(remaining)],
          isNow && limit !== null ? ["Resets", <Time key="end" at={period.end} />] : null,
          ["Jobs that were enqueued", showCount(jobs)],
          ["Jobs of schedules", showCount(schedules)],
          ["Runs of workflows", showCount(workflows)],
          ["Attempts", showCount(attempts.total)],
          ["Failed attempts", `${showCount(attempts.failed)}${failed}`],
        ]}
      />
    </>
  );
}

function Queues({ queues }: { queues: Read<Usage>["by_queue"] }) {
  return (
    <Section title="By queue">
      {queues.length === 0 ? (
        <p className={classes.note}>No queue was used.</p>
      ) : (
        <div className={classes.scroll}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Queue</Table.Th>
                <Table.Th className={classes.number}>Executions</Table.Th>
                <Table.Th className={classes.number}>Attempts</Table.Th>
                <Table.Th className={classes.number}>Failed</Table.Th>
                <Table.Th className={classes.number}>Failed, in percent</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {queues.map(({ queue, executions, attempts }) => (
                <Table.Tr key={queue}>
                  <Table.Td>{queue}</Table.Td>
                  <Table.Td className={classes.number}>{showCount(executions)}</Table.Td>
                  <Table.Td className={classes.number}>{showCount(attempts.total)}</Table.Td>
                  <Table.Td className={classes.number}>{showCount(attempts.failed)}</Table.Td>
                  <Table.Td className={classes.number}>{showPart(attempts.failed, attempts.total)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </Section>
  );
}

function monthAfter(month: string, by: number): string {
  const start = toMs(`${month}-15T00:00:00Z`) + by * 30.5 * 86_400_000;
  return toMoment(start).slice(0, 7);
}
