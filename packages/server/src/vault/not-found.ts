import { type Db, MAX_NAMES_COMPARED, namedNotFound, type ProblemError, type WorkspaceId } from "#kernel";
import { listNamesAround } from "./store.ts";

/** NOT_FOUND for a secret, suggesting a similar name of the workspace. A secret of another workspace counts as absent. */
export const secretNotFound = async (db: Db, workspaceId: WorkspaceId, name: string): Promise<ProblemError> =>
  namedNotFound("secret", name, await listNamesAround(db, workspaceId, name, MAX_NAMES_COMPARED));
