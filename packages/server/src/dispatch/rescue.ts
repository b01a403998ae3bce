import type { LastError } from "@tidemill/contract";
import type { Db, EmitEvent } from "#kernel";
import type { LaneKey } from "./claim.ts";
import { takeBackAcrossWorkspaces } from "./store.ts";

/** A job that this many nodes in a row were lost with is taken for their killer. Source: design §6. */
const MOST_LOSSES = 3;
const MOST_ROWS = 5_000;

const NODE_LOST: LastError = { code: "NODE_LOST", message: "The node that made the attempt was lost.", status: null };

/** Takes back the jobs of nodes whose lease has run out, and tells in which lanes they wait again. */
export async function rescueAcrossWorkspaces(db: Db, emit: EmitEvent, onWaiting: (lanes: LaneKey[]) => void): Promise<void> {
  for (;;) {
    const taken = await takeBackAcrossWorkspaces(db, {
      nodeId: null,
      outcome: "lost",
      error: JSON.stringify(NODE_LOST),
      mostLosses: MOST_LOSSES,
      most: MOST_ROWS,
    });
    const count = taken.reduce((sum, { jobs }) => sum + jobs, 0);
    if (count > 0) {
      emit("jobs_rescued", { count });
      onWaiting(lanesOf(taken));
    }
    if (count < MOST_ROWS) return;
  }
}

/** Gives back what a stopping node still holds, without using an attempt, and tells in which lanes it waits again. */
export async function giveBackAll(db: Db, emit: EmitEvent, nodeId: number, onWaiting: (lanes: LaneKey[]) => void): Promise<void> {
  for (;;) {
    const given = await takeBackAcrossWorkspaces(db, {
      nodeId,
      outcome: "released",
      error: null,
      mostLosses: MOST_LOSSES,
      most: MOST_ROWS,
    });
    const count = given.reduce((sum, { jobs }) => sum + jobs, 0);
    if (count > 0) {
      emit("jobs_given_back", { count });
      onWaiting(lanesOf(given));
    }
    if (count < MOST_ROWS) return;
  }
}

const lanesOf = (taken: Awaited<ReturnType<typeof takeBackAcrossWorkspaces>>): LaneKey[] =>
  taken.map(({ workspace_id, lane_id }) => ({ workspaceId: workspace_id, laneId: lane_id }));
