import type { Db } from "#kernel";
import { findPendingCalls } from "../calls/index.ts";
import { findParked } from "../executions/unfit-store.ts";
import { findKeptFor } from "../executions/version-store.ts";
import { findHookErrors } from "../hooks/hook-store.ts";
import { findPendingUndo } from "../undo/store.ts";
import { mayBeUndone, type RunDetails, type RunKey, type RunWithData } from "./run.ts";

/** What is shown of a run in addition to its record and its journal. */
export const findDetails = async (db: Db, key: RunKey, run: RunWithData): Promise<Omit<RunDetails, "steps">> => ({
  calls: run.status === "waiting" || run.status === "running" ? await findPendingCalls(db, key) : [],
  hookErrors: await findHookErrors(db, key),
  unfit: run.status === "waiting" ? await findParked(db, key) : null,
  keptFor: run.ended_at === null && run.started_at !== null ? await findKeptFor(db, { ...key, laneId: run.lane_id }) : null,
  undo: mayBeUndone(run) ? await findPendingUndo(db, key) : null,
});
