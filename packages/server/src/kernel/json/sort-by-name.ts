import type { SlicedWork } from "../shares/loop-time.ts";
import type { NumberTable } from "./number-table.ts";
import type { Pauses } from "./pauses.ts";

const STEPS_PER_COMPARISON = 64;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** The names of members, where they stand in JSON. */
export class Names {
  readonly #bytes: Uint8Array;
  /** A table whose first column says where the members begin. */
  readonly #members: NumberTable;
  /** How many bytes the last comparison has read. */
  compared = 0;

  /** @param bytes valid JSON */
  constructor(bytes: Uint8Array, members: NumberTable) {
    this.#bytes = bytes;
    this.#members = members;
  }

  /** Whether the name of a member comes after another's, as JavaScript compares strings: by their UTF-16 units. */
  isAfter(member: number, other: number): boolean {
    const bytes = this.#bytes;
    const one = this.#members.get(member);
    const two = this.#members.get(other);
    let at = 1;
    for (let isEscaped = false; bytes[one + at] === bytes[two + at]; at += 1) {
      if (bytes[one + at] === QUOTE && !isEscaped) break;
      isEscaped = bytes[one + at] === BACKSLASH && !isEscaped;
    }
    this.compared = at;
    return byUnit(bytes[one + at]) > byUnit(bytes[two + at]);
  }
}

/** UTF-16 puts U+E000 to U+FFFF last, as longer characters begin with units below these. In UTF-8, their first bytes are below those of longer ones. */
const byUnit = (byte = 0): number => (byte === 0xee || byte === 0xef ? byte + 0x10 : byte);

/** Sorts few members in place. Returns whether their order changed. */
export function sortSynchronously(members: Uint32Array, names: Names): boolean {
  let hasChanged = false;
  for (let index = 1; index < members.length; index += 1) {
    const member = members[index] as number;
    let at = index;
    for (; at > 0 && names.isAfter(members[at - 1] as number, member); at -= 1) members[at] = members[at - 1] as number;
    if (at < index) hasChanged = true;
    members[at] = member;
  }
  return hasChanged;
}

/** Whether members are in the order of their names. */
export function* areSorted(members: Uint32Array, names: Names, pauses: Pauses): SlicedWork<boolean> {
  for (let index = 1; index < members.length; index += 1) {
    if (names.isAfter(members[index - 1] as number, members[index] as number)) return false;
    if (pauses.after(STEPS_PER_COMPARISON + names.compared)) yield;
  }
  return true;
}

/** Sorts members by name. It is stable, so of duplicate members the last one still counts. The input may be overwritten. */
export function* sortByName(members: Uint32Array, names: Names, pauses: Pauses): SlicedWork<Uint32Array> {
  let from: Uint32Array = members;
  let to: Uint32Array = new Uint32Array(members.length);
  for (let run = 1; run < members.length; run *= 2) {
    for (let start = 0; start < members.length; start += 2 * run) {
      const middle = Math.min(start + run, members.length);
      const end = Math.min(start + 2 * run, members.length);
      let [one, two] = [start, middle];
      for (let at = start; at < end; at += 1) {
        const takesSecond = one === middle || (two < end && names.isAfter(from[one] as number, from[two] as number));
        to[at] = from[takesSecond ? two : one] as number;
        if (takesSecond) two += 1;
        else one += 1;
        if (pauses.after(STEPS_PER_COMPARISON + names.compared)) yield;
      }
    }
    [from, to] = [to, from];
  }
  return from;
}
