import type { DeadLetterGroup } from "@tidemill/contract";
import { useState } from "react";
import { useKeysetList } from "../../api/use-keyset-list.ts";
import { useWorkspace } from "../../app/workspace.tsx";
import { EmptyState } from "../../ui/EmptyState.tsx";
import type { Column, NarrowRow } from "../../ui/list/columns.ts";
import { RecordList } from "../../ui/list/RecordList.tsx";
import { PageFrame } from "../../ui/PageFrame.tsx";
import { Time } from "../../ui/Time.tsx";
import { OperationProgress } from "../jobs/OperationProgress.tsx";
import classes from "./dead-letters.module.css";
import { GroupActions, type GroupQuestion } from "./GroupActions.tsx";
import { GroupMenu } from "./GroupMenu.tsx";
import { GroupWhat } from "./GroupWhat.tsx";
import { Trend } from "./Trend.tsx";

/** The dead-letter queue, grouped by what failed. */
export default function DeadLettersPage() {
  const { may } = useWorkspace();
  const [asked, setAsked] = useState<GroupQuestion | null>(null);
  const list = useKeysetList<DeadLetterGroup>({ kind: "jobs", path: "/dlq/groups", idOf: idOfGroup });
  const columns: Column<DeadLetterGroup>[] = [
    { id: "what", header: "What failed", width: "minmax(8rem, 6fr)", cell: (group) => <GroupWhat group={group} /> },
    {
      id: "count",
      header: "Jobs",
      width: "5rem",
      align: "end",
      cell: ({ count }) => (
        <>
          <strong>{count.toLocaleString("en")}</strong>
          <span className={classes.narrow}> {count === 1 ? "job" : "jobs"}</span>
        </>
      ),
    },
    { id: "trend", header: "Last 24 hours", width: "7rem", cell: ({ trend }) => <Trend hours={trend} />, wide: true },
    { id: "queues", header: "Queues", width: "minmax(5rem, 1fr)", cell: ({ queues }) => queues.join(", "), wide: true },
    {
      id: "first",
      header: "First seen",
      width: "6.5rem",
      align: "end",
      cell: ({ first_seen_at }) => <Time at={first_seen_at} />,
      wide: true,
    },
    { id: "last", header: "Last seen", width: "5.5rem", align: "end", cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
    ...(may("write")
      ? [{ id: "actions", header: "", width: "3rem", cell: (group: DeadLetterGroup) => <GroupMenu group={group} onAsk={setAsked} /> }]
      : []),
  ];
  return (
    <PageFrame title="Dead letters">
      <OperationProgress />

      <RecordList
        label="Groups of failed jobs"
        what="the dead letters"
        list={list}
        columns={columns}
        narrow={NARROW_GROUP}
        empty={
          <EmptyState title="No job has failed for good">
            Jobs come here when their attempts are used up, or when a handler refuses them for good. They stay until they are retried or
            removed.
          </EmptyState>
        }
      />

      {asked && <GroupActions question={asked} onClose={() => setAsked(null)} />}
    </PageFrame>
  );
}

const NARROW_GROUP: NarrowRow = {
  lines: ["what what what actions", "what what what actions", "count last queues queues"],
  widths: "auto auto minmax(0, 1fr) 2rem",
};

const idOfGroup = ({ fingerprint }: DeadLetterGroup): string => fingerprint;
