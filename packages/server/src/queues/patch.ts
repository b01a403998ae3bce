import type { PatchQueue } from "@tidemill/contract";
import { resetCircuit } from "#circuits";
import { changeKeyLimit } from "#engine";
import { invalid, type Transactional } from "#kernel";
import { queueNotFound } from "#lanes";
import { generateSigningSecret } from "#outbound";
import { requireFeature } from "#workspaces";
import { auditUpdated } from "./audit.ts";
import { checkApproval } from "./check-approval.ts";
import { checkCallback } from "./check-callback.ts";
import type { Queue, QueueActor, QueueContext } from "./queue.ts";
import { settingsOf } from "./settings.ts";
import { lockQueue, updateQueue } from "./store.ts";

/**
 * Changes the settings in the request and leaves the others. A callback secret is generated when `callback_url` is first set, and by
 * `rotate_callback_secret`; only this response contains it. A change that affects deliveries closes an open circuit.
 *
 * @throws NOT_FOUND; VALIDATION_ERROR for a host that callbacks may not reach or an invalid template; PLAN_REQUIRED for a
 *   `callback_url` when the workspace's plan has no callbacks
 */
export async function patchQueue(
  database: Transactional,
  { random, audit, guard }: QueueContext,
  actor: QueueActor,
  name: string,
  request: PatchQueue,
): Promise<{ queue: Queue; secret: string | null }> {
  checkCallback(guard, request);
  return database.transaction(async (tx) => {
    const before = await lockQueue(tx, actor.workspaceId, name);
    if (!before) throw await queueNotFound(tx, actor.workspaceId, name);
    checkApproval(before.type, request);
    checkRateLimit(before, request);
    if (request.callback_url) requireFeature(actor.plan, "callback_url");
    const firstUrl = Boolean(request.callback_url) && before.callback_secret === null;
    const secret = firstUrl || request.rotate_callback_secret ? generateSigningSecret(random) : null;
    const update = () => updateQueue(tx, before, settingsOf(request, secret));
    const { concurrency_per_key = before.concurrency_per_key } = request;
    const queue = await (concurrency_per_key === before.concurrency_per_key ? update() : changeKeyLimit(tx, before.id, update));
    if (!queue) throw await queueNotFound(tx, actor.workspaceId, name);
    if (changesDelivery(request)) await resetCircuit(tx, { workspaceId: queue.workspace_id, laneId: queue.id });
    await auditUpdated(tx, audit, actor, { before, queue }, request);
    return { queue, secret };
  });
}

/** Checks that a queue without a rate limit gets a whole one. */
function checkRateLimit({ rate_max }: Queue, { rate_limit }: PatchQueue): void {
  if (!rate_limit || rate_max !== null) return;
  for (const half of ["max", "per_seconds"] as const) {
    if (rate_limit[half] === undefined) throw invalid(`rate_limit.${half}`, "is required, because the queue has no rate limit");
  }
}

/** Whether the change may affect deliveries: then the circuit closes, so that they are tried again. */
const changesDelivery = ({ callback_url, callback_headers, callback_timeout, paused, rotate_callback_secret }: PatchQueue): boolean =>
  [callback_url, callback_headers, callback_timeout, paused, rotate_callback_secret].some((setting) => setting !== undefined);
