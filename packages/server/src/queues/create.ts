import type { CreateQueue } from "@tidemill/contract";
import { problem, type Transactional } from "#kernel";
import { generateSigningSecret } from "#outbound";
import { requireFeature } from "#workspaces";
import { auditCreated } from "./audit.ts";
import { checkApproval } from "./check-approval.ts";
import { checkCallback } from "./check-callback.ts";
import type { Queue, QueueActor, QueueContext } from "./queue.ts";
import { settingsOf } from "./settings.ts";
import { insertQueue } from "./store.ts";

/**
 * Creates a queue. With a `callback_url` it gets a callback secret, which only this response contains.
 *
 * @throws CONFLICT when the workspace has a queue of that name; VALIDATION_ERROR for a host that callbacks may not reach or an
 *   invalid template; PLAN_REQUIRED for a `callback_url` when the workspace's plan has no callbacks
 */
export async function createQueue(
  database: Transactional,
  { random, audit, guard }: QueueContext,
  actor: QueueActor,
  request: CreateQueue,
): Promise<{ queue: Queue; secret: string | null }> {
  checkCallback(guard, request);
  checkApproval(request.type ?? "standard", request);
  if (request.callback_url) requireFeature(actor.plan, "callback_url");
  const secret = request.callback_url ? generateSigningSecret(random) : null;
  return database.transaction(async (tx) => {
    const queue = await insertQueue(
      tx,
      actor.workspaceId,
      request.name,
      request.type ?? "standard",
      settingsOf({ callback_url: null, ...request }, secret),
    );
    if (!queue) throw problem("CONFLICT", { name: request.name }, { message: `The queue "${request.name}" already exists.` });
    await auditCreated(tx, audit, actor, queue, request);
    return { queue, secret };
  });
}
