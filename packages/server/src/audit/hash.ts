import { createHash } from "node:crypto";
import type { WorkspaceId } from "#kernel";
import type { ChainedEvent } from "./store.ts";

/** The `previous` hash of the first event of a chain. */
export const CHAIN_START: Buffer = Buffer.alloc(32);

/**
 * The text of an event that its hash covers. Each field is written as its length in bytes, a colon and its text, and null as a dash, so
 * no two lists of fields give the same text. docs/api.md shows it to callers, who can verify the chain themselves.
 */
export const canonicalOf = (workspaceId: WorkspaceId, event: Omit<ChainedEvent, "hash">): string =>
  [
    event.previous.toString("hex"),
    event.previous_expires_at,
    workspaceId,
    String(event.seq),
    event.id,
    event.event_type,
    event.occurred_at,
    event.actor_id,
    event.resource_type,
    event.resource_id,
    event.input,
    event.output,
    event.expires_at,
  ]
    .map(field)
    .join("");

/**
 * The hash that an event must have: SHA-256 over its canonical text. It shares no code with `append_audit_event` (migration 0002), which
 * computes the same hash.
 */
export const hashOf = (workspaceId: WorkspaceId, event: ChainedEvent): Buffer =>
  createHash("sha256").update(canonicalOf(workspaceId, event)).digest();

const field = (text: string | null): string => (text === null ? "-" : `${Buffer.byteLength(text)}:${text}`);
