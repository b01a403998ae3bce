import type { PatchQueue } from "@tidemill/contract";
import { resetCircuit } from "#circuits";
import { changeKeyLimit } from "#engine";
import type { Transactional } from "#kernel";
import { queueNotFound } from "#lanes";
import { requireFeature } from "#workspaces";
import { checkApproval } from "./check-approval.ts";
import { checkCallback } from "./check-callback.ts";
import { type Caller, makeCallbackSecret, type Queue, type QueueMaker } from "./queue.ts";
import { settingsOf } from "./settings.ts";
import { lockQueue, updateQueue } from "./store.ts";
import { tellUpdated } from "./tell.ts";

/**
 * Changes what the request names and leaves the rest. A callback secret is made when `callback_url` is first set and when
 * `rotate_callback_secret` asks for it; the caller is shown it this once. What has to do with delivery closes an open circuit.
 *
 * @throws NOT_FOUND; VALIDATION_ERROR for a host that callbacks may not reach or a template that is none; PLAN_REQUIRED for a
 *   `callback_url` that the workspace's plan has not got
 */
export async function patchQueue(
  database: Transactional,
  { random, audit, guard }: QueueMaker,
  caller: Caller,
  name: string,
  request: PatchQueue,
): Promise<{ queue: Queue; secret: string | null }> {
  checkCallback(guard, request);
  return database.transaction(async (tx) => {
    const before = await lockQueue(tx, caller.workspaceId, name);
    if (!before) throw await queueNotFound(tx, caller.workspaceId, name);
    checkApproval(before.type, request);
    if (request.callback_url) requireFeature(caller.plan, "callback_url");
    const firstUrl = Boolean(request.callback_url) && before.callback_secret === null;
    const secret = firstUrl || request.rotate_callback_secret ? makeCallbackSecret(random) : null;
    const update = () => updateQueue(tx, before, settingsOf(request, secret));
    const { concurrency_per_key = before.concurrency_per_key } = request;
    const queue = await (concurrency_per_key === before.concurrency_per_key ? update() : changeKeyLimit(tx, before.id, update));
    if (!queue) throw await queueNotFound(tx, caller.workspaceId, name);
    if (changesDelivery(request)) await resetCircuit(tx, { workspaceId: queue.workspace_id, laneId: queue.id });
    await tellUpdated(tx, audit, caller, { before, queue }, request);
    return { queue, secret };
  });
}

/** Whether the change may affect deliveries, so that they are tried again. */
const changesDelivery = ({ callback_url, callback_headers, callback_timeout, paused, rotate_callback_secret }: PatchQueue): boolean =>
  [callback_url, callback_headers, callback_timeout, paused, rotate_callback_secret].some((setting) => setting !== undefined);
