import { layoutJson } from "../../ui/json/layout-json.ts";

export interface DiffLine {
  readonly change: "same" | "added" | "removed";
  readonly text: string;
}

/** More lines than this on both sides, multiplied, take too long to compare. */
const MAX_CELLS = 4_000_000;

/** JSON as lines of text, as it was sent except for its layout. */
export const textLines = (json: string): string[] =>
  layoutJson(json)?.map(
    ({ depth, name, text, comma }) => `${"  ".repeat(depth)}${name === null ? "" : `${name}: `}${text}${comma ? "," : ""}`,
  ) ?? [json];

/** The lines of two texts, with what was removed and added. Null if they are too long. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] | null {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const [old, fresh] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  if (old.length * fresh.length > MAX_CELLS) return null;
  const same = (text: string): DiffLine => ({ change: "same", text });
  return [...before.slice(0, start).map(same), ...changed(old, fresh), ...after.slice(after.length - end).map(same)];
}

/** By the longest common subsequence. */
function changed(old: readonly string[], fresh: readonly string[]): DiffLine[] {
  const width = fresh.length + 1;
  // The length of the longest common subsequence of what follows each pair of places.
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = fresh.length - 1; j >= 0; j--)
      lengths[i * width + j] = old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  for (let i = 0, j = 0; i < old.length || j < fresh.length; ) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push({ change: "same", text: fresh[j++] ?? "" });
      i++;
    } else if (j >= fresh.length || (i < old.length && at(i + 1, j) >= at(i, j + 1)))
      lines.push({ change: "removed", text: old[i++] ?? "" });
    else lines.push({ change: "added", text: fresh[j++] ?? "" });
  }
  return lines;
}
