import { isStructure, nextToken, QUOTE, tokenEnd } from "#kernel";
import type { Match } from "./matches.ts";

const markOf = (secret: string): string => `[secret:${secret}]`;

/** How many bytes longer the text becomes when marks replace the matches. */
export const growthOf = (matches: readonly Match[]): number =>
  matches.reduce((sum, { start, end, secret }) => sum + markOf(secret).length - (end - start), 0);

/** The bytes from `from` to before `to`, with the matches replaced by marks. */
export function replaceMatches(bytes: string, matches: readonly Match[], from = 0, to = bytes.length): string {
  let kept = "";
  let next = from;
  for (const { start, end, secret } of matches) {
    kept += bytes.slice(next, start) + markOf(secret);
    next = end;
  }
  return kept + bytes.slice(next, to);
}

/**
 * Valid JSON with marks in its strings. Numbers and literals that match are replaced by strings; null when a match crosses the edge of a
 * token.
 */
export function replaceInJson(bytes: string, matches: readonly Match[]): string | null {
  let kept = "";
  let from = 0;
  let next = 0;
  for (let start = nextToken(bytes, 0), end: number; start < bytes.length; start = nextToken(bytes, end)) {
    end = tokenEnd(bytes, start);
    const code = bytes.charCodeAt(start);
    if (isStructure(code)) continue;
    const own: Match[] = [];
    for (let match = matches[next]; match && match.start < end; next += 1, match = matches[next]) {
      // A match of structure alone holds no value.
      if (match.end <= start) continue;
      if (match.start < start || match.end > end) return null;
      own.push(match);
    }
    const quotes = code === QUOTE ? 1 : 0;
    const inside = own.map((match) => ({ ...match, start: Math.max(match.start, start + quotes), end: Math.min(match.end, end - quotes) }));
    const held = inside.filter((match) => match.start < match.end);
    if (held.length === 0) continue;
    kept += `${bytes.slice(from, start)}"${replaceMatches(bytes, held, start + quotes, end - quotes)}"`;
    from = end;
  }
  return kept + bytes.slice(from);
}
