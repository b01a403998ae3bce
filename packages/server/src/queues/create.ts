import type { CreateQueue } from "@tidemill/contract";
import { type Db, problem, type Random, type WorkspaceId } from "#kernel";
import { makeCallbackSecret, type Queue } from "./queue.ts";
import { settingsOf } from "./settings.ts";
import { insertQueue } from "./store.ts";

/**
 * Makes a queue. With a `callback_url` it gets a callback secret, which the caller is shown this once.
 *
 * @throws CONFLICT when the workspace has a queue of that name
 */
export async function createQueue(
  db: Db,
  random: Random,
  workspaceId: WorkspaceId,
  request: CreateQueue,
): Promise<{ queue: Queue; secret: string | null }> {
  const secret = request.callback_url ? makeCallbackSecret(random) : null;
  const queue = await insertQueue(db, workspaceId, request.name, request.type ?? "standard", settingsOf(request, secret));
  if (!queue) throw problem("CONFLICT", { name: request.name }, { message: "There is a queue of that name already." });
  return { queue, secret };
}
