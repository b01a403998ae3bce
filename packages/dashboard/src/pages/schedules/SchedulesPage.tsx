import { Button } from "@mantine/core";
import type { Schedule } from "@tidemill/contract";
import { useState } from "react";
import type { Read } from "../../api/raw-json.ts";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useFilters } from "../../app/use-filters.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { FilterBar } from "../../ui/FilterBar.tsx";
import { Icon } from "../../ui/Icon.tsx";
import type { Column, NarrowRow } from "../../ui/list/columns.ts";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { inWords } from "./in-words.ts";
import { ScheduleDialog } from "./ScheduleDialog.tsx";
import { toneOf } from "./state.ts";

type Row = Read<Schedule>;
const idOf = ({ name }: Row): string => name;

const FIELDS = [
  { name: "state", label: "State", choices: ["active", "paused"] },
  { name: "queue", label: "Queue" },
] as const;

const COLUMNS: readonly Column<Row>[] = [
  { id: "name", header: "Name", width: "minmax(8rem, 1fr)", cell: ({ name }) => name },
  { id: "when", header: "When", width: "minmax(10rem, 2fr)", cell: ({ cron }) => inWords(cron), wide: true },
  { id: "zone", header: "Time zone", width: "9rem", cell: ({ timezone }) => timezone, wide: true },
  { id: "queue", header: "Queue", width: "minmax(6rem, 1fr)", cell: ({ queue }) => queue },
  { id: "state", header: "State", width: "6rem", cell: ({ state }) => <StateBadge state={state} tone={toneOf(state)} /> },
  { id: "next", header: "Next run", width: "6rem", cell: ({ next_run_at }) => <Time at={next_run_at} /> },
  { id: "last", header: "Last run", width: "6rem", cell: ({ last_run_at }) => <Time at={last_run_at} />, wide: true },
];

const NARROW: NarrowRow = { lines: ["name state", "when next"], widths: "minmax(0, 1fr) 5.5rem" };

/** The schedules of the workspace. */
export default function SchedulesPage() {
  const { may } = useWorkspace();
  const filters = useFilters("state", "queue");
  const list = useKeysetList<Row>({ kind: "schedules", path: "/schedules", query: filters.query, idOf });
  const [creating, setCreating] = useState(false);
  const create = may("write") && (
    <Button variant="filled" leftSection={<Icon name="plus" size={14} />} onClick={() => setCreating(true)}>
      Create a schedule
    </Button>
  );
  return (
    <PageFrame title="Schedules" actions={create}>
      <FilterBar filters={filters} fields={FIELDS} />
      <RecordList
        label="Schedules"
        what="the schedules"
        list={list}
        columns={COLUMNS}
        narrow={NARROW}
        target={({ name }) => ({ to: "schedules/$schedule", params: { schedule: name } })}
        empty={
          <EmptyState title={filters.isEmpty ? "There is no schedule yet" : "No schedule matches these filters"}>
            A schedule enqueues a job at each time of a cron expression.
          </EmptyState>
        }
      />
      {creating && <ScheduleDialog onClose={() => setCreating(false)} />}
    </PageFrame>
  );
}
