import type { CreateQueue } from "@tidemill/contract";
import { problem, type Transactional } from "#kernel";
import { requireFeature } from "#workspaces";
import { checkApproval } from "./check-approval.ts";
import { checkCallback } from "./check-callback.ts";
import { type Caller, makeCallbackSecret, type Queue, type QueueMaker } from "./queue.ts";
import { settingsOf } from "./settings.ts";
import { insertQueue } from "./store.ts";
import { tellCreated } from "./tell.ts";

/**
 * Makes a queue. With a `callback_url` it gets a callback secret, which the caller is shown this once.
 *
 * @throws CONFLICT when the workspace has a queue of that name; VALIDATION_ERROR for a host that callbacks may not reach or a
 *   template that is none; PLAN_REQUIRED for a `callback_url` that its plan has not got
 */
export async function createQueue(
  database: Transactional,
  { random, audit, guard }: QueueMaker,
  caller: Caller,
  request: CreateQueue,
): Promise<{ queue: Queue; secret: string | null }> {
  checkCallback(guard, request);
  checkApproval(request.type ?? "standard", request);
  if (request.callback_url) requireFeature(caller.plan, "callback_url");
  const secret = request.callback_url ? makeCallbackSecret(random) : null;
  return database.transaction(async (tx) => {
    const queue = await insertQueue(
      tx,
      caller.workspaceId,
      request.name,
      request.type ?? "standard",
      settingsOf({ callback_url: null, ...request }, secret),
    );
    if (!queue) throw problem("CONFLICT", { name: request.name }, { message: "There is a queue of that name already." });
    await tellCreated(tx, audit, caller, queue, request);
    return { queue, secret };
  });
}
