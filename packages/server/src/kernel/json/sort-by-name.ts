import type { SlicedWork } from "../shares/loop-time.ts";
import type { Pauses } from "./pauses.ts";

interface Named {
  readonly name: string;
}

/** The most members that are sorted without a pause, and the most characters of their names. */
const MAX_RUN_MEMBERS = 1_024;
const MAX_RUN_CHARACTERS = 32 * 1024;
const STEPS_PER_COMPARISON = 64;

const byName = (a: Named, b: Named): number => (a.name < b.name ? -1 : Number(a.name > b.name));

/** Sorts members by name. It is stable, so of duplicate members the last one still counts. */
export function* sortedByName<Of extends Named>(members: readonly Of[], pauses: Pauses): SlicedWork<readonly Of[]> {
  if (members.length < 2) return members;
  let runs: (readonly Of[])[] = yield* sortedRuns(members, pauses);
  while (runs.length > 1) {
    const merged: (readonly Of[])[] = [];
    for (let index = 0; index < runs.length; index += 2) merged.push(yield* merge(runs[index] ?? [], runs[index + 1] ?? [], pauses));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* sortedRuns<Of extends Named>(members: readonly Of[], pauses: Pauses): SlicedWork<Of[][]> {
  const runs: Of[][] = [];
  for (let from = 0; from < members.length; ) {
    let characters = 0;
    let to = from;
    for (; to < members.length && to - from < MAX_RUN_MEMBERS && characters < MAX_RUN_CHARACTERS; to += 1)
      characters += (members[to] as Of).name.length;
    runs.push(members.slice(from, to).sort(byName));
    const comparisons = Math.ceil(Math.log2(to - from));
    if (pauses.after(comparisons * (characters + STEPS_PER_COMPARISON * (to - from)))) yield;
    from = to;
  }
  return runs;
}

function* merge<Of extends Named>(first: readonly Of[], second: readonly Of[], pauses: Pauses): SlicedWork<readonly Of[]> {
  const merged: Of[] = [];
  let [one, two] = [0, 0];
  while (one < first.length && two < second.length) {
    const [a, b] = [first[one] as Of, second[two] as Of];
    const takesSecond = byName(b, a) < 0;
    merged.push(takesSecond ? b : a);
    if (takesSecond) two += 1;
    else one += 1;
    if (pauses.after(STEPS_PER_COMPARISON + Math.min(a.name.length, b.name.length))) yield;
  }
  return merged.concat(first.slice(one), second.slice(two));
}
