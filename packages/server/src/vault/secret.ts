import { LIMITS, type Secret as SecretRecord } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import { payloadTooLarge, type Random, type Timestamp, typeId, type Uuid, type UuidSource, uuidOf } from "#kernel";
import type { SecretIdentity, SecretLimits } from "./envelope.ts";
import type { Keyring } from "./keyring.ts";

/** A stored secret without its encrypted fields. */
export interface Secret extends SecretIdentity, SecretLimits {
  readonly value_hint: string;
  readonly created_at: Timestamp;
  readonly updated_at: Timestamp;
}

/** What creating and changing secrets needs. */
export interface Vault {
  readonly keyring: Keyring;
  readonly random: Random;
  readonly ids: UuidSource;
  readonly audit: AuditLog;
}

/** The record as the API shows it, with only the hint of the value. */
export const showSecret = ({ name, value_hint, allowed_queues, allowed_hosts, created_at, updated_at }: Secret): SecretRecord => ({
  name,
  value_hint,
  allowed_queues: allowed_queues && [...allowed_queues],
  allowed_hosts: allowed_hosts && [...allowed_hosts],
  created_at,
  updated_at,
});

export const showSecretId = ({ id }: Secret): string => typeId("sec", id);

export const readSecretId = (text: string): Uuid | null => uuidOf("sec", text);

const MAX_HINT_CHARACTERS = 4;
const CHARACTERS_PER_HINTED = 4;

/** The first characters of a value, at most 4 and at most a quarter of it. Source: contract §8. */
export function hintOf(value: string): string {
  const characters = [...value];
  return `${characters.slice(0, Math.min(MAX_HINT_CHARACTERS, Math.floor(characters.length / CHARACTERS_PER_HINTED))).join("")}...`;
}

/** @throws PAYLOAD_TOO_LARGE */
export function checkSize(value: string): void {
  if (Buffer.byteLength(value) > LIMITS.secretBytes) throw payloadTooLarge(LIMITS.secretBytes, "value");
}
