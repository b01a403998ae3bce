import { type Db, MAX_NAMES_COMPARED, namedNotFound, type ProblemError, type WorkspaceId } from "#kernel";
import { listNamesAround } from "./store.ts";

/** NOT_FOUND for a schedule, with the one of the workspace that was probably meant; the same for another workspace's as for none. */
export const scheduleNotFound = async (db: Db, workspaceId: WorkspaceId, name: string): Promise<ProblemError> =>
  namedNotFound("schedule", name, await listNamesAround(db, workspaceId, name, MAX_NAMES_COMPARED));
