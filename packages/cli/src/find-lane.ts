import { findQueue, findWorkspace, type OpenDatabases, queueNotFound, type WorkspaceId, workspaceNotFound } from "@tidemill/server";

/** The queue of that name. @throws NOT_FOUND, for the workspace where it is that which is not there */
export async function findLane({ api }: OpenDatabases, workspaceId: WorkspaceId, queue: string) {
  const lane = await findQueue(api, workspaceId, queue);
  if (lane) return lane;
  throw (await findWorkspace(api, workspaceId)) ? await queueNotFound(api, workspaceId, queue) : workspaceNotFound(workspaceId);
}
