import { type Db, MAX_NAMES_COMPARED, namedNotFound, type ProblemError, type WorkspaceId } from "#kernel";
import { listNamesAround } from "./store.ts";

/** NOT_FOUND for a queue, with the workspace's queue of the most similar name. A queue of another workspace counts as absent. */
export const queueNotFound = async (db: Db, workspaceId: WorkspaceId, name: string): Promise<ProblemError> =>
  namedNotFound("queue", name, await listNamesAround(db, workspaceId, "queue", name, MAX_NAMES_COMPARED));
