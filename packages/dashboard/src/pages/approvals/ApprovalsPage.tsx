import type { Job, PendingJob } from "@tidemill/contract";
import { useCallback, useEffect, useRef } from "react";
import type { Read } from "../../api/raw-json.ts";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useRecord } from "../../api/use-record.ts";
import { useFilters } from "../../app/use-filters.ts";
import { EmptyState } from "../../ui/EmptyState.tsx";
import { ErrorState } from "../../ui/ErrorState.tsx";
import { FilterBar } from "../../ui/FilterBar.tsx";
import { LoadingState } from "../../ui/LoadingState.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { AbsentJob } from "./AbsentJob.tsx";
import { Approval } from "./Approval.tsx";
import classes from "./ApprovalsPage.module.css";
import { Inbox } from "./Inbox.tsx";

type Pending = Read<PendingJob>;
const idOf = ({ id }: Pending): string => id;

/** The inbox of jobs that wait for a decision. The chosen one is in the address. */
export default function ApprovalsPage() {
  const filters = useFilters("queue", "tag");
  const { values, set } = useFilters("job");
  const list = useKeysetList<Pending>({ kind: "approvals", path: "/approvals", query: filters.query, idOf });
  const rows = list.rows && [...list.rows];
  const chosen = rows?.find(({ id }) => id === values.job);
  const isElsewhere = rows !== undefined && values.job !== "" && !chosen;
  // A link may name a job that is decided, or that comes after the rows that are loaded. No other takes its place.
  const linked = useRecord<{ data: Job[] }>("approvals", "/jobs", { query: { id: values.job }, enabled: isElsewhere });
  const open = chosen?.record ?? (isElsewhere ? linked.data?.data[0] : undefined);
  const choose = useCallback((id: string) => set("job", id), [set]);
  const first = rows?.find(({ gone }) => !gone)?.id;
  // One job is open from the beginning, as in any inbox.
  useEffect(() => {
    if (values.job === "" && first !== undefined) choose(first);
  }, [values.job, first, choose]);
  // A person who filters wants to see the matching jobs.
  const last = useRef({ query: filters.query, job: values.job });
  useEffect(() => {
    const { query, job } = last.current;
    last.current = { query: filters.query, job: values.job };
    if (query !== filters.query && job === values.job) choose("");
  }, [filters.query, values.job, choose]);
  const goOn = () => {
    const at = rows?.findIndex(({ id }) => id === values.job) ?? -1;
    const others = rows?.filter(({ id, gone }, index) => !gone && id !== values.job && index > at) ?? [];
    const next = others[0] ?? rows?.find(({ id, gone }) => !gone && id !== values.job);
    if (next) choose(next.id);
  };
  return (
    <PageFrame title="Approvals">
      <FilterBar
        filters={filters}
        fields={[
          { name: "queue", label: "Queue" },
          { name: "tag", label: "Tag" },
        ]}
      />
      {list.error ? (
        <ErrorState error={list.error} what="the approvals" onRetry={list.reload} />
      ) : !rows ? (
        <LoadingState what="the approvals" />
      ) : rows.length === 0 && !isElsewhere ? (
        <NothingWaits isFiltered={!filters.isEmpty} />
      ) : (
        <div className={classes.columns}>
          {rows.length === 0 ? <NothingWaits isFiltered={!filters.isEmpty} /> : <Inbox list={list} chosen={chosen?.id} onChoose={choose} />}
          {open ? (
            <Approval key={open.id} job={open} onDecided={goOn} />
          ) : (
            isElsewhere && (
              <div>
                <AbsentJob id={values.job} query={linked} />
              </div>
            )
          )}
        </div>
      )}
    </PageFrame>
  );
}

function NothingWaits({ isFiltered }: { isFiltered: boolean }) {
  return (
    <EmptyState title={isFiltered ? "Nothing that matches waits for a decision" : "Nothing waits for a decision"}>
      Jobs of queues of type <code>approval</code> wait here until somebody approves or rejects them.
    </EmptyState>
  );
}
