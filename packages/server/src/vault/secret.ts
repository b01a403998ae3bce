import { LIMITS, type Secret as SecretRecord } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import { problem, type Random, type Timestamp, typeId, type Uuid, type UuidSource, uuidOf, type WorkspaceId } from "#kernel";
import type { SecretIdentity } from "./envelope.ts";
import type { Keyring } from "./keyring.ts";

/** A secret as it is stored, but for what is encrypted. Null, of what limits its use, is no limit. */
export interface Secret extends SecretIdentity {
  readonly value_hint: string;
  readonly allowed_queues: readonly string[] | null;
  readonly allowed_hosts: readonly string[] | null;
  readonly created_at: Timestamp;
  readonly updated_at: Timestamp;
}

/** Whose secrets they are, and who asks, as the audit log names him. */
export interface Caller {
  readonly workspaceId: WorkspaceId;
  readonly actorId: string;
}

/** What it takes to make and change secrets. */
export interface Vault {
  readonly keyring: Keyring;
  readonly random: Random;
  readonly ids: UuidSource;
  readonly audit: AuditLog;
}

/** The record as the API shows it: nothing of the value but its hint. */
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

const MOST_HINTED = 4;
const HINTED_PART = 4;

/** What tells a value from others: its first characters, at most 4 and at most a quarter of it. Source: contract §8. */
export function hintOf(value: string): string {
  const characters = [...value];
  return `${characters.slice(0, Math.min(MOST_HINTED, Math.floor(characters.length / HINTED_PART))).join("")}...`;
}

/** @throws PAYLOAD_TOO_LARGE */
export function checkSize(value: string): void {
  if (Buffer.byteLength(value) > LIMITS.secretBytes) throw problem("PAYLOAD_TOO_LARGE", { limit_bytes: LIMITS.secretBytes, path: "value" });
}
