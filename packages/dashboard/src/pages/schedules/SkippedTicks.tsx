import { Table } from "@mantine/core";
import type { AuditEvent, Schedule } from "@tidemill/contract";
import type { Page } from "../../api/merge-pages.ts";
import type { Read } from "../../api/raw-json.ts";
import { useRecord } from "../../api/use-record.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./schedules.module.css";
import { skipsOf, WHY } from "./skips.ts";

/** How many of the workspace's newest skips are searched for those of the schedule. */
const SEARCHED = 100;

/** The ticks that made no job, and why: from the audit log for those who may read it, else only the newest. */
export function SkippedTicks({ schedule }: { schedule: Read<Schedule> }) {
  const isAdmin = useWorkspace().may("admin");
  const query = { event_type: "schedule.skipped", limit: SEARCHED };
  const { data, error, refetch } = useRecord<Page<AuditEvent>>("schedules", "/audit-events", { query, enabled: isAdmin });
  const skips = skipsOf(schedule, data?.data ?? []);
  return (
    <Section title="Skipped ticks">
      {error ? <ErrorState error={error} what="the skipped ticks" onRetry={refetch} /> : null}
      {skips.length === 0 ? (
        <p className={classes.note}>None is known.</p>
      ) : (
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Tick</Table.Th>
              <Table.Th>Why it made no job</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {skips.map(({ at, reason, count }) => (
              <Table.Tr key={`${at} ${reason}`}>
                <Table.Td>
                  <Time at={at} exact zone={schedule.timezone} />
                  {count > 1 && `, the last of ${count}`}
                </Table.Td>
                <Table.Td>{WHY[reason] ?? reason}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Section>
  );
}
