import type { SlicedWork } from "../shares/loop-time.ts";
import { Pauses } from "./pauses.ts";
import { Pieces } from "./pieces.ts";
import { sortedByName } from "./sort-by-name.ts";
import { CLOSE_ARRAY, CLOSE_OBJECT, COMMA, nextToken, OPEN_ARRAY, OPEN_OBJECT, tokenEnd } from "./tokens.ts";

interface Member {
  readonly name: string;
  /** The name, the colon and the value. */
  readonly text: Pieces;
}

/** An object that is not closed yet. */
interface OpenObject {
  readonly members: Member[];
  /** What is written of the text around it. */
  readonly around: Pieces;
}

const STEPS_PER_TOKEN = 64;

/**
 * Writes JSON without white space, with the members of each object sorted by name. Strings and numbers stay as they are.
 *
 * @param text valid JSON
 * @returns the JSON in pieces of some 16,384 characters, longer where a token is. None ends inside a token.
 */
export function* canonicalJson(text: string): SlicedWork<readonly string[]> {
  const pauses = new Pauses();
  /** Of arrays, null. */
  const open: (OpenObject | null)[] = [];
  let written = new Pieces();
  let beginsMember = false;
  /** The tokens from `from` to before `to` follow one another without white space, and are not written yet. */
  let [from, to] = [0, 0];
  const writeTo = (next: number) => {
    if (from < to) written.add(text.slice(from, to));
    from = next;
    to = next;
  };
  for (let start = nextToken(text, 0), end: number; start < text.length; start = nextToken(text, end)) {
    end = tokenEnd(text, start);
    if (start !== to) writeTo(start);
    const code = text.charCodeAt(start);
    const object = open.at(-1);
    if (beginsMember && code !== CLOSE_OBJECT) {
      written = new Pieces();
      object?.members.push({ name: text.slice(start, end), text: written });
    }
    beginsMember = code === OPEN_OBJECT || (code === COMMA && !!object);
    if (code === OPEN_ARRAY) open.push(null);
    else if (code === OPEN_OBJECT) open.push({ members: [], around: written });
    else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) open.pop();
    if (beginsMember || code === CLOSE_OBJECT) writeTo(end);
    else to = end;
    if (code === CLOSE_OBJECT && object) {
      written = object.around;
      yield* writeObject(object.members, written, pauses);
    }
    if (pauses.after(STEPS_PER_TOKEN + end - start)) yield;
  }
  writeTo(to);
  return written.all();
}

function* writeObject(members: readonly Member[], to: Pieces, pauses: Pauses): SlicedWork<void> {
  to.add("{");
  for (const [index, { text }] of (yield* sortedByName(members, pauses)).entries()) {
    if (index > 0) to.add(",");
    to.addAll(text);
    if (pauses.after(STEPS_PER_TOKEN)) yield;
  }
  to.add("}");
}
