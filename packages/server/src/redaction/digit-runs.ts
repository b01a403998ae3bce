import type { SlicedWork } from "#kernel";
import type { WorkBudget } from "./work-budget.ts";

/** How a base writes bytes. */
interface Base {
  readonly name: "base64" | "hex";
  readonly bitsPerDigit: number;
  /** After how many digits a byte begins again. */
  readonly period: number;
  readonly run: RegExp;
  /** What a run contains in addition to its digits. */
  readonly gap: RegExp;
}

/** Lines may end between digits. */
const BASE64: Base = {
  name: "base64",
  bitsPerDigit: 6,
  period: 4,
  run: /[A-Za-z\d+/]+(?:[\t\r\n]+[A-Za-z\d+/]+)*={0,2}/g,
  gap: /[^A-Za-z\d+/]+/g,
};
/** A slash ends a run, so that each segment of a path is one. */
const BASE64URL: Base = {
  ...BASE64,
  run: /[A-Za-z\d_-]+(?:[\t\r\n]+[A-Za-z\d_-]+)*={0,2}/g,
  gap: /[^A-Za-z\d_-]+/g,
};
/** Bytes may be separated, and each may begin with `0x`. */
const HEX: Base = {
  name: "hex",
  bitsPerDigit: 4,
  period: 2,
  run: /(?:0x)?[\da-f]{2,}(?:[\s:,-]+(?:0x)?[\da-f]+)*/gi,
  gap: /(?:0x|[^\da-f])+/gi,
};

/** Consecutive digits of base64 or hexadecimal, which may hold a text. */
export interface DigitRun {
  /** The text of the run, and where it starts. */
  readonly text: string;
  readonly start: number;
  readonly base: Base;
  readonly digits: string;
}

/** A range of the digits of a run. */
export type DigitRange = readonly [start: number, end: number];

const HEX_DIGITS = /^[\da-f]*$/i;

/** The cost of reading a text in one base. */
const STEPS_PER_CHARACTER = 4;

/** The runs of digits in a text that hold at least `minBytes` bytes, each as long as possible. */
export function* digitRuns(bytes: string, minBytes: number, budget: WorkBudget): SlicedWork<DigitRun[]> {
  let runs: DigitRun[] = [];
  for (const base of [BASE64, BASE64URL, HEX]) {
    const ofBase = runsOf(bytes, base, minBytes);
    runs = runs.concat(base === HEX ? ofBase : ofBase.filter(({ digits }) => !HEX_DIGITS.test(digits)));
    budget.countToPause(STEPS_PER_CHARACTER * bytes.length);
    yield* budget.pause();
  }
  return runs;
}

function runsOf(bytes: string, base: Base, minBytes: number): DigitRun[] {
  const minDigits = Math.ceil((8 * minBytes) / base.bitsPerDigit);
  return [...bytes.matchAll(base.run)]
    .filter(([text]) => text.length >= minDigits)
    .map(({ 0: text, index }) => ({ text, start: index, base, digits: text.replace(base.gap, "") }))
    .filter(({ digits }) => digits.length >= minDigits);
}

/**
 * Which digit a text in the run may begin with: the first, or the one from which the run ends with whole bytes, if other digits stand
 * directly before the text.
 */
export function startsOf({ base, digits, text }: DigitRun): number[] {
  const padding = text.length - text.replace(/=+$/, "").length;
  const beforeText = (digits.length + padding) % base.period;
  return beforeText === 0 || (base.name === "base64" && padding === 0) ? [0] : [0, beforeText];
}

/** The bytes that the digits from `skipped` on stand for. */
export const decodeRun = ({ base, digits }: DigitRun, skipped: number): string =>
  Buffer.from(digits.slice(skipped), base.name).toString("latin1");

/** The digits that hold bits of the bytes from `start` to before `end`, which were decoded from the digit `skipped` on. */
export const digitsOf = ({ base, digits }: DigitRun, skipped: number, start: number, end: number): DigitRange => [
  skipped + Math.floor((8 * start) / base.bitsPerDigit),
  Math.min(skipped + Math.ceil((8 * end) / base.bitsPerDigit), digits.length),
];

/** Where these digits stand in the text around the run. Padding belongs to the last digit. */
export function rangeOfDigits(run: DigitRun, [first, end]: DigitRange): readonly [start: number, end: number] {
  const last = indexOfDigit(run, end - 1);
  return [run.start + indexOfDigit(run, first), run.start + (end === run.digits.length ? run.text.length : last + 1)];
}

/** The index of a digit in the text of its run. */
function indexOfDigit({ text, base }: DigitRun, digit: number): number {
  let skipped = 0;
  for (const { 0: gap, index } of text.matchAll(base.gap)) {
    if (index - skipped > digit) break;
    skipped += gap.length;
  }
  return digit + skipped;
}
