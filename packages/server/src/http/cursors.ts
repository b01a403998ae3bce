import { createCipheriv, createDecipheriv } from "node:crypto";

/** The lists whose cursors are sealed numbers. */
export type SealedList = "queues" | "schedules" | "workflows" | "webhooks";

/**
 * Seals the number of a row, which counts the rows of all workspaces, in a cursor: AES-128 of one block, which holds the name of the list
 * and the number.
 *
 * @param key the workspace's own key, of 16 bytes
 */
export function sealNumber(key: Buffer, list: SealedList, number: number): string {
  const block = labelOf(list);
  block.writeBigUInt64BE(BigInt(number), 8);
  const cipher = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  return Buffer.concat([cipher.update(block), cipher.final()]).toString("base64url");
}

/** The number in a cursor; null if the text is not a cursor of this list with this key. */
export function openNumber(key: Buffer, list: SealedList, cursor: string): number | null {
  if (!/^[A-Za-z0-9_-]{22}$/.test(cursor)) return null;
  const cipher = createDecipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  const block = Buffer.concat([cipher.update(Buffer.from(cursor, "base64url")), cipher.final()]);
  return block.subarray(0, 8).equals(labelOf(list).subarray(0, 8)) ? Number(block.readBigUInt64BE(8)) : null;
}

/** A block with the name of the list, cut to 8 bytes. */
function labelOf(list: SealedList): Buffer {
  const block = Buffer.alloc(16);
  block.write(list.slice(0, 8), 0, "latin1");
  return block;
}
