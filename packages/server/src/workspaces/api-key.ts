import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Random } from "#kernel";

/** Source: specification, Authentication; contract §2. */
const PREFIX = "svc_ws_";
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/** Makes a key: the prefix, 32 random base62 characters, and 6 characters with the CRC32 of everything before them. */
export function makeKey(random: Random): string {
  let text = PREFIX;
  while (text.length < PREFIX.length + RANDOM_LENGTH) {
    // Bytes of 248 (4 × 62) and more would make some characters more likely than others.
    for (const byte of random.bytes(48)) {
      if (byte < 248 && text.length < PREFIX.length + RANDOM_LENGTH) text += BASE62[byte % 62];
    }
  }
  return text + checksum(text);
}

/** Whether the form and the checksum of `text` are those of a key. Does not read the database. */
export function isWellFormedKey(text: string): boolean {
  return FORM.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
}

/** The hash of a key, which is all that is stored of its text. */
export const hashKey = (key: string): Buffer => createHash("sha256").update(key).digest();

function checksum(text: string): string {
  let value = crc32(text);
  let digits = "";
  for (let index = 0; index < CHECKSUM_LENGTH; index += 1) {
    digits = BASE62[value % 62] + digits;
    value = Math.floor(value / 62);
  }
  return digits;
}
