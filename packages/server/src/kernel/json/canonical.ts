import { CLOSE_ARRAY, COLON, COMMA, nextToken, OPEN_ARRAY, OPEN_OBJECT, QUOTE, tokenEnd } from "./tokens.ts";

/**
 * Writes JSON without white space, with the members of each object sorted by name. Strings and numbers stay as they are.
 *
 * @param text valid JSON
 */
export function canonicalJson(text: string): string {
  let at = 0;

  /** Moves to the next value, name or closing bracket. */
  function next(): number {
    at = nextToken(text, at);
    let code = text.charCodeAt(at);
    while (code === COMMA || code === COLON) {
      at = nextToken(text, at + 1);
      code = text.charCodeAt(at);
    }
    return code;
  }
  function token(): string {
    const start = at;
    at = tokenEnd(text, start);
    return text.slice(start, at);
  }
  function array(): string {
    let items = "";
    for (at += 1; next() !== CLOSE_ARRAY; ) items += `${items && ","}${value()}`;
    at += 1;
    return `[${items}]`;
  }
  function object(): string {
    const members: { name: string; text: string }[] = [];
    for (at += 1; next() === QUOTE; ) {
      const name = token();
      members.push({ name, text: `${name}:${value()}` });
    }
    at += 1;
    // The sort is stable, so of duplicate members the last one still counts.
    if (members.length > 1) members.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
    return `{${members.map((member) => member.text).join()}}`;
  }
  function value(): string {
    const first = next();
    if (first === OPEN_ARRAY) return array();
    return first === OPEN_OBJECT ? object() : token();
  }
  return value();
}
