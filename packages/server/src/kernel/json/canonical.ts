import type { SlicedWork } from "../shares/loop-time.ts";
import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, nextToken, OPEN_ARRAY, OPEN_OBJECT, tokenEnd } from "./tokens.ts";

interface Member {
  readonly name: string;
  readonly text: string;
}

/** An array or object that is not closed yet. */
type Open =
  | { readonly kind: "array"; readonly items: string[] }
  | { readonly kind: "object"; readonly members: Member[]; name: string | null };

/** Tokens, items or members that are worked on before a pause. They take about a millisecond. */
const SLICE = 4_096;

/**
 * Writes JSON without white space, with the members of each object sorted by name. Strings and numbers stay as they are.
 *
 * @param text valid JSON
 */
export function* canonicalJson(text: string): SlicedWork<string> {
  const open: Open[] = [];
  let at = 0;
  for (let tokens = 1; ; tokens += 1) {
    if (tokens % SLICE === 0) yield;
    at = nextToken(text, at);
    const code = text.charCodeAt(at);
    const start = at;
    at = tokenEnd(text, start);
    if (code === COMMA || code === COLON) continue;
    if (code === OPEN_ARRAY) open.push({ kind: "array", items: [] });
    else if (code === OPEN_OBJECT) open.push({ kind: "object", members: [], name: null });
    else {
      const closed = code === CLOSE_ARRAY || code === CLOSE_OBJECT ? open.pop() : undefined;
      const value = closed ? yield* textOf(closed) : text.slice(start, at);
      const container = open.at(-1);
      if (!container) return value;
      add(container, value);
    }
  }
}

/** Adds a value, or the name of the member whose value comes next. */
function add(container: Open, value: string): void {
  if (container.kind === "array") container.items.push(value);
  else if (container.name === null) container.name = value;
  else {
    container.members.push({ name: container.name, text: `${container.name}:${value}` });
    container.name = null;
  }
}

function* textOf(closed: Open): SlicedWork<string> {
  if (closed.kind === "array") return `[${yield* joined(closed.items)}]`;
  const members = yield* sorted(closed.members);
  return `{${yield* joined(members.map(({ text }) => text))}}`;
}

function* joined(parts: readonly string[]): SlicedWork<string> {
  if (parts.length <= SLICE) return parts.join();
  const chunks: string[] = [];
  for (let from = 0; from < parts.length; from += SLICE) {
    chunks.push(parts.slice(from, from + SLICE).join());
    yield;
  }
  return chunks.join();
}

const byName = (a: Member, b: Member): number => (a.name < b.name ? -1 : Number(a.name > b.name));

/** Sorts members by name. It is stable, so of duplicate members the last one still counts. */
function* sorted(members: Member[]): SlicedWork<Member[]> {
  if (members.length <= SLICE) return members.length > 1 ? members.sort(byName) : members;
  let runs: Member[][] = [];
  for (let from = 0; from < members.length; from += SLICE) {
    runs.push(members.slice(from, from + SLICE).sort(byName));
    yield;
  }
  while (runs.length > 1) {
    const merged: Member[][] = [];
    for (let index = 0; index < runs.length; index += 2) merged.push(yield* merge(runs[index] as Member[], runs[index + 1] ?? []));
    runs = merged;
  }
  return runs[0] as Member[];
}

function* merge(first: readonly Member[], second: readonly Member[]): SlicedWork<Member[]> {
  const merged: Member[] = [];
  let next = 0;
  for (const member of first) {
    for (let other = second[next]; other && byName(other, member) < 0; other = second[next]) {
      merged.push(other);
      next += 1;
    }
    merged.push(member);
    if (merged.length % SLICE === 0) yield;
  }
  for (; next < second.length; next += 1) merged.push(second[next] as Member);
  return merged;
}
