import { type Db, MAX_NAMES_COMPARED, namedNotFound, type ProblemError, type WorkspaceId } from "#kernel";
import type { LaneKind } from "./lane.ts";
import { listNamesAround } from "./store.ts";

/** NOT_FOUND for a lane, with the workspace's lane of the most similar name. A lane of another workspace counts as absent. */
export const laneNotFound = async (
  db: Db,
  workspaceId: WorkspaceId,
  kind: Exclude<LaneKind, "http">,
  name: string,
): Promise<ProblemError> => namedNotFound(kind, name, await listNamesAround(db, workspaceId, kind, name, MAX_NAMES_COMPARED));

/** The same for a queue. */
export const queueNotFound = (db: Db, workspaceId: WorkspaceId, name: string): Promise<ProblemError> =>
  laneNotFound(db, workspaceId, "queue", name);
