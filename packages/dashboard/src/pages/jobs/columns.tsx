import type { Job } from "@tidemill/contract";
import type { Read } from "../../api/raw-json.ts";
import type { Column, NarrowRow, RowTarget } from "../../ui/list/columns.ts";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import { WsLink } from "../../ui/WsLink.tsx";
import classes from "./jobs.module.css";

export type JobRow = Read<Job>;

/** The columns of a list of jobs. */
export const JOB_COLUMNS: readonly Column<JobRow>[] = [
  { id: "job", header: "Job", width: "minmax(6rem, 14.5rem)", cell: ({ id }) => <code className={classes.id}>{id}</code> },
  {
    id: "queue",
    header: "Queue",
    width: "minmax(6rem, 2fr)",
    cell: ({ queue }) => (
      <WsLink to="queues/$queue" params={{ queue }}>
        {queue}
      </WsLink>
    ),
  },
  { id: "state", header: "State", width: "8.5rem", cell: ({ state }) => <StateBadge state={state} /> },
  { id: "tag", header: "Tag", width: "minmax(4rem, 1fr)", cell: ({ tag }) => tag, wide: true },
  {
    id: "error",
    header: "Last error",
    width: "minmax(6rem, 6fr)",
    cell: ({ last_error }) =>
      last_error && <span title={`${last_error.code}: ${last_error.message}`}>{last_error.message || last_error.code}</span>,
    wide: true,
  },
  {
    id: "attempt",
    header: "Attempt",
    width: "5rem",
    align: "end",
    cell: ({ attempt, attempts }) => `${attempt} of ${attempts}`,
    wide: true,
  },
  { id: "created", header: "Enqueued", width: "5rem", align: "end", cell: ({ created_at }) => <Time at={created_at} /> },
];

/** A job on a narrow window: its whole id, what failed and when. */
export const NARROW_JOB: NarrowRow = {
  lines: ["job job job created", "state queue error error"],
  widths: "auto fit-content(6rem) minmax(0, 1fr) auto",
};

export const jobTarget = ({ id }: JobRow): RowTarget => ({ to: "jobs/$job", params: { job: id } });
export const idOfJob = ({ id }: JobRow): string => id;
