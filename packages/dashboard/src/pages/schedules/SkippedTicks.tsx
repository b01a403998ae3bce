import { Table } from "@mantine/core";
import type { SkippedTicks as SkippedTickList, SkipReason } from "@tidemill/contract";
import { useRecord } from "../../api/use-record.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./schedules.module.css";

const MAX_SHOWN = 100;

const WHY: Readonly<Record<SkipReason, string>> = {
  overlap: "An earlier job of the schedule had not finished.",
  quota: "The month's executions were used up.",
  catch_up: "Missed in a downtime, and missed ticks do not all run afterwards.",
  unreadable: "The node did not know the time zone. It tries again after an hour.",
};

/** The ticks that made no job, and why. */
export function SkippedTicks({ name, timezone }: { name: string; timezone: string }) {
  const path = `/schedules/${encodeURIComponent(name)}/skips`;
  const { data, error, refetch } = useRecord<SkippedTickList>("schedules", path, { query: { limit: MAX_SHOWN } });
  return (
    <Section title="Skipped ticks">
      {error ? (
        <ErrorState error={error} what="the skipped ticks" onRetry={refetch} />
      ) : !data ? (
        <LoadingState what="the skipped ticks" />
      ) : data.data.length === 0 ? (
        <p className={classes.note}>No tick was skipped. Ticks during a pause are not listed.</p>
      ) : (
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>First tick</Table.Th>
              <Table.Th>Last tick</Table.Th>
              <Table.Th>Why they created no job</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.data.map(({ first, last, reason }) => (
              <Table.Tr key={first}>
                <Table.Td>
                  <Time at={first} exact zone={timezone} />
                </Table.Td>
                <Table.Td>{last === first ? "the same" : <Time at={last} exact zone={timezone} />}</Table.Td>
                <Table.Td>{WHY[reason]}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Section>
  );
}
