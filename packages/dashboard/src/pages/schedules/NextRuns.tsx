import { Table } from "@mantine/core";
import type { SchedulePreview } from "@tidemill/contract";
import { useRecord } from "../../api/use-record.ts";
import { toMs } from "../../time/clock.ts";
import { formatExact } from "../../time/format.ts";
import { useZone } from "../../time/zone.ts";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./schedules.module.css";

const COUNT = 10;

/** The next times of a pattern: in its zone, in the person's, and in UTC. */
export function NextRuns({ cron, timezone, paused }: { cron: string; timezone: string; paused: boolean }) {
  const { zone } = useZone();
  const { data, error, refetch } = useRecord<SchedulePreview>("schedules", "/schedules/preview", {
    query: { cron, timezone, count: COUNT },
  });
  const zones = [...new Set([timezone, zone, "UTC"])];
  return (
    <Section title={paused ? "Next runs, if it were not paused" : "Next runs"}>
      {error ? (
        <ErrorState error={error} what="the next runs" onRetry={refetch} />
      ) : !data ? (
        <LoadingState what="the next runs" />
      ) : (
        <div className={classes.scroll}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>In</Table.Th>
                {zones.map((one) => (
                  <Table.Th key={one}>{one === timezone ? `${one} (its zone)` : one === zone ? `${one} (yours)` : one}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.runs.map(({ run_at }) => (
                <Table.Tr key={run_at}>
                  <Table.Td>
                    <Time at={run_at} />
                  </Table.Td>
                  {zones.map((one) => (
                    <Table.Td key={one}>{formatExact(toMs(run_at), one)}</Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </Section>
  );
}
