import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { type Random, readKeyBytes } from "#kernel";

/** A key that wraps the data keys of secrets. */
export interface MasterKey {
  /** Identifies the key and reveals nothing about it: 16 hex characters. It may be shown. */
  readonly id: string;
  readonly key: KeyObject;
}

export const KEY_BYTES = 32;

const ID_LABEL = "tidemill master key id";
const ID_LENGTH = 16;

/** Reads a key of 32 bytes in base64 or hex; null when the text is not such a key. */
export function readMasterKey(text: string): MasterKey | null {
  const bytes = readKeyBytes(text);
  return bytes && masterKeyOf(bytes);
}

export const makeMasterKey = (random: Random): MasterKey => masterKeyOf(random.bytes(KEY_BYTES));

export const writeMasterKey = ({ key }: MasterKey): string => key.export().toString("base64");

function masterKeyOf(bytes: Buffer): MasterKey {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return { id: createHmac("sha256", key).update(ID_LABEL).digest("hex").slice(0, ID_LENGTH), key };
}
