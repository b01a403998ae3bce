import type { CreatedKey, CreateKey } from "@tidemill/contract";
import type { Actor } from "#audit";
import type { LockAccess } from "#http";
import { type Db, invalid, momentMs, type Transactional, typeId } from "#kernel";
import type { AdminContext } from "./admin-context.ts";
import { hashKey, makeKey } from "./api-key.ts";
import { insertKey } from "./key-store.ts";
import { workspaceNotFound } from "./workspace.ts";

/**
 * Creates a key for a workspace. Only the returned value contains its text. Source: contract §2.
 *
 * @param hold makes sure that the sender of a request is still allowed to do this. Commands have none
 * @throws VALIDATION_ERROR when `expires_at` has passed, or `queues` or `workflows` are given for another role than worker, or NOT_FOUND when there is no such workspace
 */
export const createKey = (
  database: Transactional,
  adminContext: AdminContext,
  actor: Actor,
  request: CreateKey,
  hold?: LockAccess,
): Promise<CreatedKey> =>
  database.transaction(async (tx) => {
    await hold?.(tx);
    return addKey(tx, adminContext, actor, request);
  });

/** Like `createKey`, but within the caller's transaction. @param key the text of the key, if an operator chose one */
export async function addKey(
  tx: Db,
  { clock, random, ids, audit }: AdminContext,
  { workspaceId, actorId }: Actor,
  { name, role = "write", queues = null, workflows = null, expires_at = null }: CreateKey,
  key: string = makeKey(random),
): Promise<CreatedKey> {
  if (expires_at !== null && momentMs(expires_at) <= clock.nowMs()) throw invalid("expires_at", "must be later than now");
  if (queues !== null && role !== "worker") throw invalid("queues", "is for keys of role worker");
  if (workflows !== null && role !== "worker") throw invalid("workflows", "is for keys of role worker");
  const stored = await insertKey(tx, {
    id: ids.next(),
    workspaceId,
    name,
    role,
    queues,
    workflows,
    hash: hashKey(key),
    expiresAt: expires_at,
  });
  if (!stored) throw workspaceNotFound(workspaceId);
  const shown = {
    id: typeId("key", stored.id),
    name,
    role,
    queues,
    workflows,
    expires_at: stored.expires_at,
    created_at: stored.created_at,
  };
  await audit.record(tx, {
    workspaceId,
    eventType: "key.created",
    actorId,
    resourceType: "key",
    resourceId: shown.id,
    input: { name, role, queues, workflows, expires_at: stored.expires_at },
    output: null,
  });
  return { ...shown, key };
}
