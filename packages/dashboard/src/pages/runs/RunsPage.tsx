import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useFilters } from "../../app/use-filters.ts";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { FilterBar } from "../../ui/FilterBar.tsx";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { idOfRun, NARROW_RUN, RUN_COLUMNS, type RunRow, runTarget } from "./columns.tsx";
import { RUN_STATUSES } from "./statuses.ts";

const FIELDS = [
  { name: "status", label: "Status", choices: RUN_STATUSES },
  { name: "workflowId", label: "Workflow", placeholder: "Workflow: full id", width: "15rem" },
] as const;

/** The runs of all workflows. */
export default function RunsPage() {
  const filters = useFilters("status", "workflowId");
  const list = useKeysetList<RunRow>({ kind: "runs", path: "/runs", query: filters.query, idOf: idOfRun });
  return (
    <PageFrame title="Runs">
      <FilterBar filters={filters} fields={FIELDS} />
      <RecordList
        label="Runs"
        what="the runs"
        list={list}
        columns={RUN_COLUMNS}
        narrow={NARROW_RUN}
        target={runTarget}
        empty={
          filters.isEmpty ? (
            <EmptyState title="No workflow has run yet">
              A run begins when a <WsLink to="workflows">workflow</WsLink> is triggered: by the API, an event, its schedule or another run.
            </EmptyState>
          ) : (
            <EmptyState title="No run matches these filters" />
          )
        }
      />
    </PageFrame>
  );
}
