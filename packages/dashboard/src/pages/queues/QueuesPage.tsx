import { Button } from "@mantine/core";
import type { ListedQueue } from "@tidemill/contract";
import { useMemo, useState } from "react";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { formatDuration } from "../../time/format.ts";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { Icon } from "../../ui/Icon.tsx";
import type { Column, NarrowRow } from "../../ui/list/columns.ts";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { CreateQueue } from "./CreateQueue.tsx";
import { conditionOf } from "./condition.ts";
import { useServed } from "./use-served.ts";

const QUERY = { include: "metrics" };
const nameOf = ({ name }: ListedQueue): string => name;
const targetOf = ({ name }: ListedQueue) => ({ to: "queues/$queue", params: { queue: name } });

/** All queues, with what is in them. */
export default function QueuesPage() {
  const { may } = useWorkspace();
  const served = useServed();
  const list = useKeysetList<ListedQueue>({ kind: "queues", path: "/queues", query: QUERY, idOf: nameOf });
  const columns = useMemo(() => columnsOf(served), [served]);
  const [creating, setCreating] = useState(false);
  const create = may("write") && (
    <Button variant="filled" leftSection={<Icon name="plus" size={14} />} onClick={() => setCreating(true)}>
      Create a queue
    </Button>
  );
  return (
    <PageFrame title="Queues" actions={create}>
      <RecordList
        list={list}
        label="Queues"
        what="the queues"
        columns={columns}
        narrow={NARROW}
        target={targetOf}
        nameOf={nameOf}
        empty={
          <EmptyState title="There is no queue yet" action={create}>
            A queue holds jobs until they are delivered to your handler as signed HTTP requests, or taken by your workers.
          </EmptyState>
        }
      />
      <CreateQueue opened={creating} onClose={() => setCreating(false)} />
    </PageFrame>
  );
}

const NARROW: NarrowRow = { lines: ["name waiting", "state failed"], widths: "minmax(0, 1fr) auto" };

const count = (value: number | undefined): string => (value === undefined ? "–" : value.toLocaleString("en"));
const millis = (value: number | null | undefined): string => (value == null ? "–" : formatDuration(value));

const columnsOf = (served: ReadonlySet<string> | null): Column<ListedQueue>[] => [
  { id: "name", header: "Queue", width: "minmax(8rem, 2fr)", cell: nameOf },
  {
    id: "state",
    header: "State",
    width: "minmax(11.5rem, 1fr)",
    cell: (queue) => {
      const { label, tone } = conditionOf(queue, served);
      return <StateBadge state={label} tone={tone} />;
    },
  },
  { ...number("waiting", "Waiting", ({ metrics }) => count(metrics?.waiting)), unit: "waiting" },
  number("active", "Active", ({ metrics }) => count(metrics?.active)),
  { ...number("delayed", "Delayed", ({ metrics }) => count(metrics?.delayed)), wide: true },
  { ...number("failed", "Failed", ({ metrics }) => count(metrics?.failed)), unit: "failed" },
  { ...number("rate", "Done/min", ({ metrics }) => count(metrics?.completed_last_minute)), wide: true },
  { ...number("p50", "p50", ({ metrics }) => millis(metrics?.latency_ms.p50)), wide: true },
  { ...number("p99", "p99", ({ metrics }) => millis(metrics?.latency_ms.p99)), wide: true },
  {
    ...number("oldest", "Oldest", ({ metrics }) =>
      metrics?.oldest_waiting_seconds == null ? "–" : formatDuration(metrics.oldest_waiting_seconds * 1_000),
    ),
    width: "6rem",
  },
];

function number(id: string, header: string, cell: (queue: ListedQueue) => string): Column<ListedQueue> {
  return { id, header, width: "minmax(4rem, 6rem)", align: "end", cell };
}
