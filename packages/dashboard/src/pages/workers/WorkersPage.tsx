import type { WorkerRecord } from "@tidemill/contract";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { EmptyState } from "../../ui/EmptyState.tsx";
import type { Column, NarrowRow } from "../../ui/list/columns.ts";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Time } from "../../ui/Time.tsx";

const list = (names: readonly string[]) => <span title={names.join(", ")}>{names.length > 0 ? names.join(", ") : "–"}</span>;

const COLUMNS: readonly Column<WorkerRecord>[] = [
  { id: "name", header: "Worker", width: "minmax(8rem, 1.5fr)", cell: ({ name }) => name },
  { id: "version", header: "Version", width: "minmax(5rem, 1fr)", cell: ({ version }) => version ?? "–" },
  { id: "queues", header: "Queues", width: "minmax(7rem, 2fr)", cell: ({ queues }) => list(queues), wide: true },
  { id: "workflows", header: "Workflows", width: "minmax(7rem, 2fr)", cell: ({ workflows }) => list(workflows), wide: true },
  { id: "holds", header: "Holds", width: "5rem", align: "end", cell: ({ in_flight }) => in_flight, unit: "held" },
  { id: "seen", header: "Last seen", width: "6.5rem", align: "end", cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
];

const NARROW: NarrowRow = { lines: ["name seen", "version holds"], widths: "minmax(0, 1fr) auto" };

/** The programs that have recently asked for work. */
export default function WorkersPage() {
  const workers = useKeysetList<WorkerRecord>({ kind: "workers", path: "/workers", idOf: ({ name }) => name });
  return (
    <PageFrame title="Workers">
      <RecordList
        label="Workers"
        what="the workers"
        list={workers}
        columns={COLUMNS}
        narrow={NARROW}
        empty={
          <EmptyState title="No worker has asked for work in the last 15 minutes">
            Queues without a <code>callback_url</code>, and workflows without an endpoint, are served by workers: programs that ask for
            jobs. Start one with the SDK's <code>Worker</code> and a key of role <code>worker</code>.
          </EmptyState>
        }
      />
    </PageFrame>
  );
}
