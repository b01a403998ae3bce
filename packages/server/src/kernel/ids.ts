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
const HEX_DIGITS = "0123456789abcdef";
const POOL_BYTES = 8_192;

/** What an id begins with: 48 bits of milliseconds, and the version. */
function prefixOf(ms: number): string {
  const digits = ms.toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7`;
}

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
  /** The text of `#lastMs` in an id, which many ids share. */
  #prefix = prefixOf(0);

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  next(): Uuid {
    const nowMs = Math.floor(this.#clock.nowMs());
    if (nowMs > this.#lastMs || ++this.#counter > 0xfff) {
      this.#lastMs = Math.max(nowMs, this.#lastMs + 1);
      this.#prefix = prefixOf(this.#lastMs);
      this.#counter = 0;
    }
    if (this.#offset + 8 > this.#pool.length) {
      this.#pool = this.#random.bytes(POOL_BYTES);
      this.#offset = 0;
    }
    const pool = this.#pool;
    const at = this.#offset;
    this.#offset += 8;
    const counter = `${HEX_DIGITS[this.#counter >> 8]}${HEX[this.#counter & 255]}`;
    const hex = (index: number) => HEX[pool[at + index] ?? 0] ?? "00";
    const variant = HEX[0x80 | ((pool[at] ?? 0) & 0x3f)] ?? "80";
    return `${this.#prefix}${counter}-${variant}${hex(1)}-${hex(2)}${hex(3)}${hex(4)}${hex(5)}${hex(6)}${hex(7)}` as Uuid;
  }
}

/** Two base32 digits for each 10 bits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => `${ALPHABET[bits >> 5]}${ALPHABET[bits & 31]}`);
const TYPE_ID_SUFFIX = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** A TypeID (prefix, underscore, 26 digits of Crockford's base32) over a UUID. */
export function typeId(prefix: IdPrefix, uuid: Uuid): string {
  // The first 8 bits make two base32 digits. After that, every 20 bits (five hex digits) make four.
  let text = `${prefix}_${PAIRS[(nibble(uuid, 0) << 4) | nibble(uuid, 1)]}`;
  for (let at = 2; at < 32; at += 5) {
    const high = (nibble(uuid, at) << 6) | (nibble(uuid, at + 1) << 2) | (nibble(uuid, at + 2) >> 2);
    const low = ((nibble(uuid, at + 2) & 3) << 8) | (nibble(uuid, at + 3) << 4) | nibble(uuid, at + 4);
    text += `${PAIRS[high]}${PAIRS[low]}`;
  }
  return text;
}

/** Where the 32 hex digits stand in the text of a UUID, between its hyphens. */
const PLACES = Uint8Array.from({ length: 32 }, (_, n) => n + (n < 8 ? 0 : Math.min(4, (n - 4) >> 2)));

/** A hex digit of a UUID's text. Digits and letters differ in their seventh bit. */
const nibble = (uuid: Uuid, n: number): number => {
  const code = uuid.charCodeAt(PLACES[n] as number);
  return (code & 15) + 9 * (code >> 6);
};

/** The UUID of a TypeID with that prefix, or null when `text` is not one. */
export function uuidOf(prefix: IdPrefix, text: string): Uuid | null {
  const suffix = text.slice(prefix.length + 1);
  if (!text.startsWith(`${prefix}_`) || !TYPE_ID_SUFFIX.test(suffix)) return null;
  // Four digits are 20 bits: with those of the next four, five bytes.
  let hex = HEX[digit(suffix, 0) * 32 + digit(suffix, 1)] as string;
  for (let at = 2; at < 26; at += 8) {
    const [high, low] = [bits20(suffix, at), bits20(suffix, at + 4)];
    hex += `${HEX[high >> 12]}${HEX[(high >> 4) & 255]}${HEX[((high & 15) << 4) | (low >> 16)]}${HEX[(low >> 8) & 255]}${HEX[low & 255]}`;
  }
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as Uuid;
}

/** What each digit of the alphabet stands for, by its character code. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) => Math.max(0, ALPHABET.indexOf(String.fromCharCode(code))));

const digit = (text: string, at: number): number => DIGITS[text.charCodeAt(at)] as number;

const bits20 = (text: string, at: number): number =>
  (digit(text, at) << 15) | (digit(text, at + 1) << 10) | (digit(text, at + 2) << 5) | digit(text, at + 3);
