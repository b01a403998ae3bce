import type { Key, Role } from "@tidemill/contract";
import { type Timestamp, typeId, type Uuid, uuidOf } from "#kernel";

/** A key as it is stored, without its hash. */
export interface KeyRow {
  readonly id: Uuid;
  readonly name: string;
  readonly role: Role;
  readonly queues: readonly string[] | null;
  readonly workflows: readonly string[] | null;
  readonly expires_at: Timestamp | null;
  readonly last_used_at: Timestamp | null;
  readonly created_at: Timestamp;
}

export const showKey = ({ id, name, role, queues, workflows, expires_at, last_used_at, created_at }: KeyRow): Key => ({
  id: typeId("key", id),
  name,
  role,
  queues: queues && [...queues],
  workflows: workflows && [...workflows],
  expires_at,
  last_used_at,
  created_at,
});

export const readKeyId = (text: string): Uuid | null => uuidOf("key", text);
