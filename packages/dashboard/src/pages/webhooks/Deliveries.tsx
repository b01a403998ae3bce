import type { Delivery } from "@tidemill/contract";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useFilters } from "../../app/use-filters.ts";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { FilterBar } from "../../ui/FilterBar.tsx";
import type { Column, NarrowRow } from "../../ui/list/columns.ts";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { Section } from "../../ui/Section.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { toneOf } from "./delivery-state.ts";
import { EVENT_TYPES } from "./events.ts";

const COLUMNS: readonly Column<Delivery>[] = [
  { id: "type", header: "Event", width: "minmax(9rem, 1.5fr)", cell: ({ type }) => type },
  { id: "state", header: "State", width: "7rem", cell: ({ state }) => <StateBadge state={state} tone={toneOf(state)} /> },
  { id: "status", header: "Response", width: "6rem", align: "end", cell: ({ response_status }) => response_status ?? "–" },
  { id: "attempts", header: "Attempts", width: "5.5rem", align: "end", cell: ({ attempts }) => attempts },
  { id: "error", header: "Last error", width: "minmax(8rem, 2fr)", cell: ({ last_error }) => last_error?.message ?? "", wide: true },
  {
    id: "next",
    header: "Next attempt",
    width: "7rem",
    align: "end",
    cell: ({ next_attempt_at }) => <Time at={next_attempt_at} />,
    wide: true,
  },
  { id: "created", header: "Created", width: "6rem", align: "end", cell: ({ created_at }) => <Time at={created_at} /> },
];

const NARROW: NarrowRow = { lines: ["type type created", "state error error"], widths: "auto minmax(0, 1fr) auto" };

const FIELDS = [
  { name: "state", label: "State", choices: ["pending", "delivered", "failed", "cancelled"] },
  { name: "type", label: "Event", choices: [...EVENT_TYPES, "webhook.test"] },
] as const;

const idOf = ({ id }: Delivery): string => id;

/** The deliveries of a webhook. */
export function Deliveries({ webhook }: { webhook: string }) {
  const filters = useFilters("state", "type");
  const path = `/webhooks/${encodeURIComponent(webhook)}/deliveries`;
  const list = useKeysetList<Delivery>({ kind: "webhooks", path, query: filters.query, idOf });
  return (
    <Section title="Deliveries">
      <FilterBar filters={filters} fields={FIELDS} />
      <RecordList
        label="Deliveries"
        what="the deliveries"
        list={list}
        columns={COLUMNS}
        narrow={NARROW}
        target={({ id }) => ({ to: "webhooks/$webhook/deliveries/$delivery", params: { webhook, delivery: id } })}
        empty={
          <EmptyState title={filters.isEmpty ? "Nothing was sent yet" : "No delivery matches this filter"}>
            {filters.isEmpty && "Send a test event to see whether the endpoint works."}
          </EmptyState>
        }
      />
    </Section>
  );
}
