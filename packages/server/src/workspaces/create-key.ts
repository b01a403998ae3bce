import type { CreatedKey, CreateKey } from "@tidemill/contract";
import { type Db, problem, type Random, typeId, type UuidSource, type WorkspaceId } from "#kernel";
import { hashKey, makeKey } from "./api-key.ts";
import { insertKey } from "./store.ts";

export interface KeyMaker {
  readonly ids: UuidSource;
  readonly random: Random;
}

/**
 * Makes a key of a workspace. Its text is in the answer and nowhere else. Source: contract §2.
 *
 * @throws NOT_FOUND when there is no such workspace
 */
export async function createKey(
  db: Db,
  { ids, random }: KeyMaker,
  workspaceId: WorkspaceId,
  { name, role = "admin", expires_at = null }: CreateKey,
  key: string = makeKey(random),
): Promise<CreatedKey> {
  const stored = await insertKey(db, { id: ids.next(), workspaceId, name, role, hash: hashKey(key), expiresAt: expires_at });
  if (!stored) throw problem("NOT_FOUND");
  const { id, ...rest } = stored;
  return { id: typeId("key", id), ...rest, key };
}
