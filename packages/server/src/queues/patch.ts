import type { PatchQueue } from "@tidemill/contract";
import { problem, type Random, type Transactional, type WorkspaceId } from "#kernel";
import { makeCallbackSecret, type Queue } from "./queue.ts";
import { settingsOf } from "./settings.ts";
import { lockQueue, updateQueue } from "./store.ts";

/**
 * Changes what the request names and leaves the rest. A callback secret is made when `callback_url` is first set and when
 * `rotate_callback_secret` asks for it; the caller is shown it this once.
 *
 * @throws NOT_FOUND
 */
export const patchQueue = (
  database: Transactional,
  random: Random,
  workspaceId: WorkspaceId,
  name: string,
  request: PatchQueue,
): Promise<{ queue: Queue; secret: string | null }> =>
  database.transaction(async (tx) => {
    const before = await lockQueue(tx, workspaceId, name);
    if (!before) throw problem("NOT_FOUND");
    const firstUrl = Boolean(request.callback_url) && before.callback_secret === null;
    const secret = firstUrl || request.rotate_callback_secret ? makeCallbackSecret(random) : null;
    const queue = await updateQueue(tx, before, settingsOf(request, secret));
    if (!queue) throw problem("NOT_FOUND");
    return { queue, secret };
  });
