import { Button } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import type { WorkerRecord, Workflow } from "@tidemill/contract";
import { useMemo, useState } from "react";
import type { Read } from "../../api/raw-json.ts";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useRecord } from "../../api/use-record.ts";
import { useFilters } from "../../app/use-filters.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { describeAttempts } from "../../ui/describe-attempts.ts";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { Facts } from "../../ui/Facts.tsx";
import { FilterBar } from "../../ui/FilterBar.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Section } from "../../ui/Section.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { idOfRun, NARROW_RUN_OF_WORKFLOW, RUN_COLUMNS, type RunRow, runTarget } from "../runs/columns.tsx";
import { RUN_STATUSES } from "../runs/statuses.ts";
import { servedBy } from "./describe-workflow.ts";
import { StartRun } from "./StartRun.tsx";

type WorkflowDetail = Read<Workflow>;

const FIELDS = [{ name: "status", label: "Status", choices: RUN_STATUSES }] as const;
const COLUMNS = RUN_COLUMNS.filter(({ id }) => id !== "workflow").map((column) =>
  column.id === "run" ? { ...column, width: "minmax(7rem, 14rem)", wide: false } : column,
);

/** A workflow: how it is started and served, and its runs. */
export default function WorkflowPage() {
  const { workflow: id = "" } = useParams({ strict: false }) as { workflow?: string };
  const { data, error, refetch } = useRecord<Workflow>("workflows", `/workflows/${encodeURIComponent(id)}`);
  const [starting, setStarting] = useState(false);
  const { may } = useWorkspace();
  return (
    <PageFrame
      title={id}
      above={<WsLink to="workflows">Workflows</WsLink>}
      actions={
        data &&
        may("write") && (
          <Button variant="filled" leftSection={<Icon name="play" size={14} />} onClick={() => setStarting(true)}>
            Start a run
          </Button>
        )
      }
    >
      {error ? (
        <ErrorState error={error} what="the workflow" onRetry={refetch} />
      ) : !data ? (
        <LoadingState what="the workflow" />
      ) : (
        <>
          <WorkflowFacts workflow={data} />
          <Runs workflowId={id} />
        </>
      )}
      {/* It stays when the workflow cannot be read again in the meantime: somebody types in it. */}
      <StartRun workflowId={id} opened={starting} onClose={() => setStarting(false)} />
    </PageFrame>
  );
}

function WorkflowFacts({ workflow }: { workflow: WorkflowDetail }) {
  const { version, attempts, backoff, concurrency, events, cron, timezone, nextRunAt, hooks, endpoint_url, endpoint_stopped, updatedAt } =
    workflow;
  return (
    <>
      {endpoint_stopped && <ErrorState error={new Error(endpoint_stopped.message)} what="" title="No executions are sent" />}
      <Facts
        facts={[
          ["Served by", endpoint_url ?? servedBy(workflow)],
          ["Current version", version ?? "–"],
          ["Versions of workers", <Versions key="v" workflowId={workflow.id} />],
          ["Events", events.length > 0 ? events.join(", ") : "–"],
          ["Schedule", cron === null ? "–" : `${cron} (${timezone})`],
          nextRunAt ? ["Next run", <Time key="n" at={nextRunAt} />] : null,
          ["Attempts", describeAttempts(attempts, backoff.delay)],
          ["Runs at once", concurrency ?? "no limit"],
          ["Hooks", hooks.length > 0 ? hooks.join(", ") : "–"],
          ["Registered", <Time key="u" at={updatedAt} />],
        ]}
      />
    </>
  );
}

/** The versions of the workers that ask for a workflow, each with how many have it. */
function Versions({ workflowId }: { workflowId: string }) {
  const { data, error } = useRecord<{ data: WorkerRecord[] }>("workers", "/workers");
  if (error) return <>unknown: {error.message}</>;
  if (!data) return <>…</>;
  const counts = new Map<string, number>();
  for (const { workflows, version } of data.data) {
    if (workflows.includes(workflowId)) counts.set(version ?? "unnamed", (counts.get(version ?? "unnamed") ?? 0) + 1);
  }
  return <>{[...counts].map(([version, count]) => `${version} (${count})`).join(", ") || "no worker asks for it"}</>;
}

function Runs({ workflowId }: { workflowId: string }) {
  const filters = useFilters("status");
  const query = useMemo(() => ({ workflowId, ...filters.query }), [workflowId, filters.query]);
  const list = useKeysetList<RunRow>({ kind: "runs", path: "/runs", query, idOf: idOfRun });
  return (
    <Section title="Runs">
      <FilterBar filters={filters} fields={FIELDS} />
      <RecordList
        label="Runs"
        what="the runs"
        list={list}
        columns={COLUMNS}
        narrow={NARROW_RUN_OF_WORKFLOW}
        target={runTarget}
        empty={
          filters.isEmpty ? (
            <EmptyState title="It has not run yet">
              Start a run with the button above, by <code>POST /v1/workflows/:id/trigger</code>, or by an event or a schedule that it names.
            </EmptyState>
          ) : (
            <EmptyState title="No run matches this filter" />
          )
        }
      />
    </Section>
  );
}
