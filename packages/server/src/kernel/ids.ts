import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

/** A UUID in its usual text form, as PostgreSQL reads and writes it. */
export type Uuid = string & { readonly __uuid: true };

/** Ids of resources. Each has its own type, so that the compiler rejects an id of another resource. */
export type WorkspaceId = Uuid & { readonly __of: "workspace" };
export type JobId = Uuid & { readonly __of: "job" };
export type RunId = Uuid & { readonly __of: "run" };
export type OperationId = Uuid & { readonly __of: "operation" };
export type PersonId = Uuid & { readonly __of: "person" };
export type EventId = Uuid & { readonly __of: "event" };

export type IdPrefix =
  | "job"
  | "run"
  | "hook"
  | "evt"
  | "ws"
  | "key"
  | "aud"
  | "acc"
  | "sec"
  | "usr"
  | "dep"
  | "ses"
  | "inv"
  | "pky"
  | "op"
  | "whk"
  | "whd";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const POOL_BYTES = 8_192;

/**
 * Generates UUIDs of version 7 that increase within a process. A counter is in the 12 bits after the milliseconds (RFC 9562, §6.2,
 * method 1), and the milliseconds never decrease.
 */
export class UuidSource {
  readonly #clock: Clock;
  readonly #random: Random;
  #pool: Buffer = Buffer.alloc(0);
  #offset = 0;
  #lastMs = 0;
  #counter = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  next(): Uuid {
    const nowMs = Math.floor(this.#clock.nowMs());
    if (nowMs > this.#lastMs) {
      this.#lastMs = nowMs;
      this.#counter = 0;
    } else if (++this.#counter > 0xfff) {
      this.#lastMs += 1;
      this.#counter = 0;
    }
    if (this.#offset + 8 > this.#pool.length) {
      this.#pool = this.#random.bytes(POOL_BYTES);
      this.#offset = 0;
    }
    const pool = this.#pool;
    const at = this.#offset;
    this.#offset += 8;
    const ms = this.#lastMs.toString(16).padStart(12, "0");
    const counter = this.#counter.toString(16).padStart(3, "0");
    const hex = (index: number) => HEX[pool[at + index] ?? 0] ?? "00";
    const variant = HEX[0x80 | ((pool[at] ?? 0) & 0x3f)] ?? "80";
    return `${ms.slice(0, 8)}-${ms.slice(8)}-7${counter}-${variant}${hex(1)}-${hex(2)}${hex(3)}${hex(4)}${hex(5)}${hex(6)}${hex(7)}` as Uuid;
  }
}

/** Two base32 digits for each 10 bits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => `${ALPHABET[bits >> 5]}${ALPHABET[bits & 31]}`);
const TYPE_ID_SUFFIX = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** A TypeID (prefix, underscore, 26 digits of Crockford's base32) over a UUID. */
export function typeId(prefix: IdPrefix, uuid: Uuid): string {
  const hex = uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18) + uuid.slice(19, 23) + uuid.slice(24);
  // The first 8 bits make two base32 digits. After that, every 20 bits (five hex digits) make four.
  let text = `${prefix}_${PAIRS[Number.parseInt(hex.slice(0, 2), 16)]}`;
  for (let at = 2; at < 32; at += 5) {
    const bits = Number.parseInt(hex.slice(at, at + 5), 16);
    text += `${PAIRS[bits >> 10]}${PAIRS[bits & 1023]}`;
  }
  return text;
}

/** The UUID of a TypeID with that prefix, or null when `text` is not one. */
export function uuidOf(prefix: IdPrefix, text: string): Uuid | null {
  const suffix = text.slice(prefix.length + 1);
  if (!text.startsWith(`${prefix}_`) || !TYPE_ID_SUFFIX.test(suffix)) return null;
  let hex = digits(suffix, 0, 2).toString(16).padStart(2, "0");
  for (let at = 2; at < 26; at += 4)
    hex += digits(suffix, at, at + 4)
      .toString(16)
      .padStart(5, "0");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-") as Uuid;
}

function digits(text: string, from: number, to: number): number {
  let bits = 0;
  for (let at = from; at < to; at += 1) bits = bits * 32 + ALPHABET.indexOf(text.charAt(at));
  return bits;
}
