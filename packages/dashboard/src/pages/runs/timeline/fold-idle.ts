/** A span of time in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Idle time that the axis shows folded. */
interface Fold extends Span {
  /** Its place on the axis, from 0 to 1. */
  readonly left: number;
  readonly width: number;
}

/** An axis on which idle time is folded. */
export interface Axis {
  /** The place of a moment, from 0 to 1. */
  readonly place: (ms: number) => number;
  readonly folds: readonly Fold[];
}

/** Shorter idle time is shown as it is. Milliseconds. */
const MIN_FOLDED_MS = 2_000;
/** Idle time is folded if it is longer than this share of all busy time. */
const MIN_SHARE = 0.25;
/** The width of a fold, and the largest width of all folds together. Shares of the axis. */
const FOLD_WIDTH = 0.05;
const MAX_FOLDS_WIDTH = 0.4;

/** Makes an axis for a run: idle time, in which nothing is busy, would squeeze the rest to a point. */
export function foldIdle(whole: Span, busy: readonly Span[]): Axis {
  const merged = mergeSpans(busy, whole);
  const busyMs = merged.reduce((sum, { from, to }) => sum + to - from, 0);
  const gaps = gapsBetween(merged, whole).filter(({ from, to }) => to - from > Math.max(MIN_FOLDED_MS, busyMs * MIN_SHARE));
  const foldWidth = gaps.length === 0 ? 0 : Math.min(FOLD_WIDTH, MAX_FOLDS_WIDTH / gaps.length);
  const gapsMs = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  const shownMs = Math.max(1, whole.to - whole.from - gapsMs);
  const perMs = (1 - foldWidth * gaps.length) / shownMs;
  const folds: Fold[] = [];
  let left = 0;
  let at = whole.from;
  for (const { from, to } of gaps) {
    left += (from - at) * perMs;
    folds.push({ from, to, left, width: foldWidth });
    left += foldWidth;
    at = to;
  }
  const place = (ms: number): number => {
    let begin = { ms: whole.from, left: 0 };
    for (const fold of folds) {
      if (ms < fold.from) break;
      if (ms <= fold.to) return fold.left + ((ms - fold.from) / (fold.to - fold.from)) * fold.width;
      begin = { ms: fold.to, left: fold.left + fold.width };
    }
    return Math.max(0, Math.min(1, begin.left + (ms - begin.ms) * perMs));
  };
  return { place, folds };
}

function mergeSpans(spans: readonly Span[], { from: first, to: last }: Span): Span[] {
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const clipped = { from: Math.max(first, from), to: Math.min(last, to) };
    const before = merged.at(-1);
    if (before && clipped.from <= before.to) before.to = Math.max(before.to, clipped.to);
    else merged.push(clipped);
  }
  return merged;
}

function gapsBetween(merged: readonly Span[], whole: Span): Span[] {
  const edges = [{ from: whole.from, to: whole.from }, ...merged, { from: whole.to, to: whole.to }];
  return edges.slice(1).map(({ from }, at) => ({ from: edges[at]?.to ?? whole.from, to: from }));
}
