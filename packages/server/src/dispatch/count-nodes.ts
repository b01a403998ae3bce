import { type Db, row, sql } from "#kernel";

/** How many nodes are alive. */
export const countNodes = async (db: Db): Promise<number> =>
  (await row<{ nodes: number }>(db, sql`select count(*) as nodes from node where lease_until > now()`))?.nodes ?? 0;

/** How many nodes are alive that do not have that master key. */
export const countNodesWithout = async (db: Db, masterKeyId: string): Promise<number> =>
  (
    await row<{ nodes: number }>(
      db,
      sql`select count(*) as nodes from node where lease_until > now() and not ${masterKeyId} = any(master_key_ids)`,
    )
  )?.nodes ?? 0;
