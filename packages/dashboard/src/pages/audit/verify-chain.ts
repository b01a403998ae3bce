import type { AuditEvent } from "@tidemill/contract";
import { RawJson, type Read } from "../../api/raw-json.ts";
import { sha256 } from "./sha256.ts";

export type ChainedEvent = Read<AuditEvent>;

/** Where a chain is broken. */
export interface BrokenLink {
  readonly seq: number;
  readonly problem: string;
}

const START = "0".repeat(64);
/** The fields of the canonical text (docs/api.md, "The audit chain"). */
const SHOWN = {
  previous: 0,
  seq: 3,
  event_type: 5,
  occurred_at: 6,
  actor_id: 7,
  resource_type: 8,
  resource_id: 9,
  input: 10,
  output: 11,
} as const;
const FIELDS = 13;

/**
 * Checks an event, and that the event after it (the one with the next `seq`, if it is known) follows it. Null: both are correct.
 */
export function brokenLink(event: ChainedEvent, next: ChainedEvent | null): BrokenLink | null {
  const { seq, hash, previous, canonical } = event;
  if (sha256(canonical) !== hash) return { seq, problem: "Its hash does not match its text: the event was changed." };
  if (!shows(event)) return { seq, problem: "Its fields differ from the text that was hashed: the event was changed." };
  if (seq === 1 && previous !== START) return { seq, problem: "It is the first one, but names an event before it." };
  if (next && next.seq !== seq + 1) return { seq: seq + 1, problem: "It is missing." };
  if (next && next.previous !== hash) return { seq, problem: `Event ${next.seq} names another hash for it: one of them was changed.` };
  return null;
}

/** Whether the fields that an event shows are those in its canonical text. */
function shows(event: ChainedEvent): boolean {
  const fields = readFields(event.canonical);
  if (fields?.length !== FIELDS) return false;
  return (Object.keys(SHOWN) as (keyof typeof SHOWN)[]).every((name) => {
    const field = fields[SHOWN[name]] ?? null;
    const value = event[name];
    // Times are hashed with microseconds, and shown with milliseconds.
    if (name === "occurred_at") return field !== null && `${field.slice(0, 23)}Z` === value;
    if (value instanceof RawJson) return field !== null && isSameJson(field, value.text);
    return field === (value === null ? null : String(value));
  });
}

/** Whether two texts are the same JSON, with whatever white space. */
const isSameJson = (one: string, other: string): boolean =>
  one === other || JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other));

/**
 * The fields of a canonical text: each a length in bytes, a colon and a text, or a dash for null. Null for a text that is not canonical.
 */
function readFields(canonical: string): (string | null)[] | null {
  const bytes = new TextEncoder().encode(canonical);
  const decoder = new TextDecoder();
  const fields: (string | null)[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] === 0x2d) {
      fields.push(null);
      at += 1;
      continue;
    }
    const colon = bytes.indexOf(0x3a, at);
    const length = colon < 0 ? Number.NaN : Number(decoder.decode(bytes.subarray(at, colon)));
    if (!Number.isInteger(length) || colon + 1 + length > bytes.length) return null;
    fields.push(decoder.decode(bytes.subarray(colon + 1, colon + 1 + length)));
    at = colon + 1 + length;
  }
  return fields;
}
