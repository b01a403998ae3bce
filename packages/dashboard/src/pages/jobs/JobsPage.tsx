import { Button } from "@mantine/core";
import type { FoundJobs } from "@tidemill/contract";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { FilterBar } from "../../ui/FilterBar.tsx";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { useSelection } from "../../ui/list/selection.ts";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import { idOfJob, JOB_COLUMNS, type JobRow, jobTarget, NARROW_JOB } from "./columns.tsx";
import { JOB_FIELDS, useJobFilters } from "./filters.ts";
import classes from "./jobs.module.css";
import { ManyJobs } from "./ManyJobs.tsx";
import { OperationProgress } from "./OperationProgress.tsx";
import { SameError } from "./SameError.tsx";

/** The jobs of all queues. */
export default function JobsPage() {
  const { may } = useWorkspace();
  const filters = useJobFilters();
  const selection = useSelection();
  const list = useKeysetList<JobRow>({ kind: "jobs", path: "/jobs", query: filters.request, idOf: idOfJob });
  const until = (list.lastPage as FoundJobs | undefined)?.searched_until ?? null;
  const more = until !== null && list.hasMore && (
    <div className={classes.searched} role="status">
      <span>
        Searched back to <Time at={until} exact />. Older jobs were not searched.
      </span>
      <Button onClick={list.loadMore} loading={list.isLoadingMore}>
        Search on
      </Button>
    </div>
  );
  return (
    <PageFrame title="Jobs" actions={may("write") && <ManyJobs filter={filters.request} selection={selection} />}>
      <OperationProgress />
      <FilterBar filters={filters} fields={JOB_FIELDS} />
      {filters.values.fingerprint !== "" && <SameError job={list.rows?.at(0)?.record} onClear={() => filters.set("fingerprint", "")} />}
      <RecordList
        label="Jobs"
        what="the jobs"
        list={list}
        columns={JOB_COLUMNS}
        narrow={NARROW_JOB}
        target={jobTarget}
        nameOf={idOfJob}
        selection={may("write") ? selection : undefined}
        foot={more || undefined}
        empty={
          more ? (
            <EmptyState title="Nothing found so far" action={more} />
          ) : filters.isEmpty ? (
            <EmptyState title="There are no jobs">
              Enqueue one into a <WsLink to="queues">queue</WsLink>: POST /v1/queues/:name/jobs, the SDK, or <code>tidemill enqueue</code>.
            </EmptyState>
          ) : (
            <EmptyState title="No job matches these filters" />
          )
        }
      />
    </PageFrame>
  );
}
