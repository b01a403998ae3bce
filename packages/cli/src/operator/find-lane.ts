import {
  findQueue,
  findWorkspace,
  type OpenDatabases,
  type Queue,
  queueNotFound,
  type WorkspaceId,
  workspaceNotFound,
} from "@tidemill/server";

/** The queue with a name. @throws NOT_FOUND, which names the workspace when the workspace does not exist either */
export async function findLane({ api }: OpenDatabases, workspaceId: WorkspaceId, queue: string): Promise<Queue> {
  const lane = await findQueue(api, workspaceId, queue);
  if (lane) return lane;
  throw (await findWorkspace(api, workspaceId)) ? await queueNotFound(api, workspaceId, queue) : workspaceNotFound(workspaceId);
}
