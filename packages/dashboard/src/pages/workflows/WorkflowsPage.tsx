import type { Workflow } from "@tidemill/contract";
import type { Read } from "../../api/raw-json.ts";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { EmptyState } from "../../ui/EmptyState.tsx";
import type { Column } from "../../ui/list/columns.ts";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { servedBy, triggersOf } from "./describe-workflow.ts";

type WorkflowRow = Read<Workflow>;

const COLUMNS: readonly Column<WorkflowRow>[] = [
  { id: "id", header: "Workflow", width: "minmax(8rem, 1.5fr)", cell: ({ id }) => id },
  { id: "starts", header: "Started by", width: "minmax(7rem, 2fr)", cell: triggersOf },
  {
    id: "served",
    header: "Served by",
    width: "minmax(7rem, 1.2fr)",
    cell: (workflow) => (workflow.endpoint_stopped ? <StateBadge state="stopped" tone="bad" /> : servedBy(workflow)),
    wide: true,
  },
  { id: "version", header: "Version", width: "8rem", cell: ({ version }) => version ?? "–", wide: true },
  { id: "attempts", header: "Attempts", width: "5rem", align: "end", cell: ({ attempts }) => attempts, wide: true },
  { id: "at once", header: "At once", width: "5.5rem", align: "end", cell: ({ concurrency }) => concurrency ?? "no limit", wide: true },
  { id: "next", header: "Next run", width: "6rem", align: "end", cell: ({ nextRunAt }) => <Time at={nextRunAt} /> },
];

/** The workflows of the workspace. */
export default function WorkflowsPage() {
  const list = useKeysetList<WorkflowRow>({ kind: "workflows", path: "/workflows", idOf: ({ id }) => id });
  return (
    <PageFrame title="Workflows">
      <RecordList
        label="Workflows"
        what="the workflows"
        list={list}
        columns={COLUMNS}
        target={({ id }) => ({ to: "workflows/$workflow", params: { workflow: id } })}
        empty={
          <EmptyState title="No workflow is registered yet">
            A worker registers its workflows when it starts: <code>new Worker({"{ workflows: [onboard] }"}).start()</code>. One with an
            endpoint is registered by <code>PUT /v1/workflows/:id</code>.
          </EmptyState>
        }
      />
    </PageFrame>
  );
}
