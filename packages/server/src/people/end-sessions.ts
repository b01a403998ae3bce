import type { Db, PersonId } from "#kernel";
import type { PeopleContext } from "./people-context.ts";
import { listWorkspaceIdsAcrossWorkspaces } from "./person-store.ts";

/** Ends what a person has open on all nodes: streams, and calls that wait. Call it after their sessions have ended. */
export async function endOpenCalls(
  db: Db,
  { onWorkspaceChanged }: Pick<PeopleContext, "onWorkspaceChanged">,
  personId: PersonId,
): Promise<void> {
  for (const workspaceId of await listWorkspaceIdsAcrossWorkspaces(db, personId)) onWorkspaceChanged(workspaceId);
}
