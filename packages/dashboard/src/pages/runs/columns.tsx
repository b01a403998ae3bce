import type { ListedRun } from "@tidemill/contract";
import type { Read } from "../../api/raw-json.ts";
import { Duration } from "../../ui/Duration.tsx";
import type { Column, NarrowRow, RowTarget } from "../../ui/list/columns.ts";
import { StateBadge } from "../../ui/StateBadge.tsx";
import { Time } from "../../ui/Time.tsx";
import classes from "./columns.module.css";
import { describeTrigger } from "./describe-trigger.ts";

export type RunRow = Read<ListedRun>;

/** The columns of a list of runs. */
export const RUN_COLUMNS: readonly Column<RunRow>[] = [
  { id: "workflow", header: "Workflow", width: "minmax(6rem, 1.5fr)", cell: ({ workflowId }) => workflowId },
  { id: "run", header: "Run", width: "14rem", cell: ({ runId }) => <code className={classes.id}>{runId}</code>, wide: true },
  { id: "status", header: "Status", width: "7rem", cell: ({ status }) => <StateBadge state={status} /> },
  { id: "error", header: "Error", width: "minmax(6rem, 3fr)", cell: ({ error }) => error && `${error.name}: ${error.message}`, wide: true },
  { id: "trigger", header: "Started by", width: "minmax(6rem, 1fr)", cell: ({ trigger }) => describeTrigger(trigger), wide: true },
  {
    id: "attempt",
    header: "Attempt",
    width: "5rem",
    align: "end",
    cell: ({ attempt, attempts }) => `${attempt} of ${attempts}`,
    wide: true,
  },
  {
    id: "took",
    header: "Took",
    width: "6.5rem",
    align: "end",
    cell: ({ startedAt, endedAt }) => <Duration from={startedAt} to={endedAt} />,
    wide: true,
  },
  { id: "created", header: "Triggered", width: "6rem", align: "end", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** A run on a narrow window. In a list of one workflow's runs, their ids are shown instead of its name. */
export const NARROW_RUN: NarrowRow = { lines: ["workflow workflow created", "status error error"], widths: "auto minmax(0, 1fr) auto" };
export const NARROW_RUN_OF_WORKFLOW: NarrowRow = { ...NARROW_RUN, lines: ["run run created", "status error error"] };

export const runTarget = ({ runId }: RunRow): RowTarget => ({ to: "runs/$run", params: { run: runId } });
export const idOfRun = ({ runId }: RunRow): string => runId;
