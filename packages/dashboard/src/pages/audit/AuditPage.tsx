import { Button } from "@mantine/core";
import type { AuditEvent } from "@tidemill/contract";
import { useMemo, useState } from "react";
import type { Read } from "../../api/raw-json.ts";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useFilters } from "../../app/use-filters.ts";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { FilterBar } from "../../ui/FilterBar.tsx";
import type { Column, NarrowRow } from "../../ui/list/columns.ts";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./audit.module.css";
import { EventDialog } from "./EventDialog.tsx";
import { EVENT_TYPES, RESOURCE_TYPES } from "./event-types.ts";
import { NamedId } from "./NamedId.tsx";
import { useActorNames } from "./use-actor-names.ts";
import { Verification } from "./Verification.tsx";

type Row = Read<AuditEvent>;
const idOf = ({ id }: Row): string => id;

const FIELDS = [
  { name: "event_type", label: "Event", choices: EVENT_TYPES },
  { name: "resource_type", label: "About", choices: RESOURCE_TYPES },
  { name: "actor_id", label: "Actor", placeholder: "Actor: key_…, usr_…, operator", width: "14rem" },
  { name: "from", label: "From", placeholder: "From 2026-11-01" },
  { name: "to", label: "To", placeholder: "Before 2026-12-01" },
] as const;

const NARROW: NarrowRow = { lines: ["event at", "actor resource"], widths: "minmax(0, 1fr) 10rem" };

/** Who did what in the workspace. */
export default function AuditPage() {
  const names = useActorNames();
  const filters = useFilters("event_type", "resource_type", "actor_id", "from", "to");
  const { query: given } = filters;
  // A day is the whole of it, in UTC.
  const query = useMemo(() => Object.fromEntries(Object.entries(given).map(([name, text]) => [name, momentOf(name, text)])), [given]);
  const list = useKeysetList<Row>({ kind: "settled", path: "/audit-events", query, idOf });
  const [shown, setShown] = useState<Row | null>(null);
  const columns: readonly Column<Row>[] = useMemo(
    () => [
      { id: "seq", header: "No.", width: "4.5rem", align: "end", cell: ({ seq }) => seq },
      {
        id: "event",
        header: "Event",
        width: "minmax(9rem, 1fr)",
        cell: (event) => (
          <Button variant="transparent" size="compact-xs" className={classes.event} onClick={() => setShown(event)}>
            {event.event_type}
          </Button>
        ),
      },
      { id: "at", header: "When", width: "6rem", cell: ({ occurred_at }) => <Time at={occurred_at} /> },
      { id: "actor", header: "Actor", width: "minmax(8rem, 1fr)", cell: ({ actor_id }) => <NamedId id={actor_id} names={names} /> },
      { id: "about", header: "About", width: "7rem", cell: ({ resource_type }) => resource_type, wide: true },
      {
        id: "resource",
        header: "Name or id",
        width: "minmax(8rem, 1fr)",
        cell: ({ resource_id }) => <NamedId id={resource_id ?? "several"} names={names} />,
        wide: true,
      },
    ],
    [names],
  );
  return (
    <PageFrame title="Audit log">
      <Verification />
      <FilterBar filters={filters} fields={FIELDS} />
      <RecordList
        label="Audit events"
        what="the audit log"
        list={list}
        columns={columns}
        narrow={NARROW}
        empty={<EmptyState title={filters.isEmpty ? "Nothing was recorded yet" : "No event matches these filters"} />}
      />
      {shown && <EventDialog event={shown} names={names} onClose={() => setShown(null)} />}
    </PageFrame>
  );
}

const momentOf = (name: string, text: string): string =>
  (name === "from" || name === "to") && /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
