import type { SlicedWork } from "#kernel";
import { type DecodedText, decodings } from "./decode.ts";
import { type DigitRange, type DigitRun, decodeRun, digitRuns, digitsOf, rangeOfDigits, startsOf } from "./digit-runs.ts";
import type { OnMatch, ValueFinder } from "./find-values.ts";
import type { WorkBudget } from "./work-budget.ts";

/** Runs of three alphabets are read, and the digits taken out of each. */
const STEPS_PER_CHARACTER = 3;
/** A run costs more than its characters. */
const STEPS_PER_RUN = 100;
/** The cost of decoding a run. */
const STEPS_PER_PIECE = 500;
/** Between texts: not valid UTF-8, so no value stands across it. */
const SEPARATOR = "\xff\xfe\xff";

interface EmbeddedMatch {
  readonly range: DigitRange;
  readonly secret: string;
}

/** A run decoded from one of its first digits, and where its bytes start among those of all runs. */
interface Piece {
  readonly run: DigitRun;
  readonly skipped: number;
  readonly start: number;
  /** The matches in the run, from all its pieces. */
  readonly matches: EmbeddedMatch[];
}

/**
 * Finds values in texts that stand in base64 or hexadecimal inside another text: there they may be escaped or encoded once more. A run
 * of digits that occurs several times is searched once.
 */
export class EmbeddedTexts {
  readonly #finders: readonly ValueFinder[];
  readonly #minBytes: number;
  /** The matches in each run that was searched. */
  readonly #searched = new Map<string, EmbeddedMatch[]>();

  /** @param finders of values that do not occur in any bytes by chance */
  constructor(finders: readonly ValueFinder[]) {
    this.#finders = finders;
    this.#minBytes = Math.min(...finders.map(({ minBytes }) => minBytes));
  }

  /** Reports the digits that hold bits of a value. */
  *find(text: DecodedText, budget: WorkBudget, onMatch: OnMatch): SlicedWork<void> {
    if (this.#finders.length === 0) return;
    budget.spend(STEPS_PER_CHARACTER * text.bytes.length);
    const runs = yield* digitRuns(text.bytes, this.#minBytes, budget);
    budget.spend(runs.reduce((steps, { text: digits }) => steps + STEPS_PER_RUN + digits.length, 0));
    if (budget.isExhausted) return;
    yield* this.#search(runs, budget);
    for (const run of runs) {
      for (const { range, secret } of this.#searched.get(keyOf(run)) ?? []) {
        budget.spend(run.text.length);
        if (budget.isExhausted) return;
        onMatch(...text.sourceRange(...rangeOfDigits(run, range)), secret);
        yield* budget.pause();
      }
    }
  }

  /** Searches all runs that are new in one pass: one for each would cost more than the search. */
  *#search(runs: readonly DigitRun[], budget: WorkBudget): SlicedWork<void> {
    const pieces: Piece[] = [];
    let bytes = "";
    for (const run of runs) {
      if (this.#searched.has(keyOf(run))) continue;
      const matches: EmbeddedMatch[] = [];
      this.#searched.set(keyOf(run), matches);
      for (const skipped of startsOf(run)) {
        pieces.push({ run, skipped, start: bytes.length, matches });
        bytes += decodeRun(run, skipped) + SEPARATOR;
        budget.countToPause(STEPS_PER_PIECE + STEPS_PER_CHARACTER * run.digits.length);
        yield* budget.pause();
      }
    }
    budget.spend(bytes.length);
    const onMatch: OnMatch = (start, end, secret) => {
      const piece = pieceAt(pieces, start);
      if (!piece) return;
      piece.matches.push({ range: digitsOf(piece.run, piece.skipped, start - piece.start, end - piece.start), secret });
    };
    for (const decoded of decodings(bytes, "text", budget)) {
      for (const finder of this.#finders) yield* finder.find(decoded, budget, onMatch);
      if (budget.isExhausted) return;
      yield* budget.pause();
    }
  }
}

const keyOf = ({ base, digits }: DigitRun): string => `${base.name} ${digits}`;

/** The last piece that starts at or before an index. */
function pieceAt(pieces: readonly Piece[], index: number): Piece | undefined {
  let low = 0;
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pieces[middle] as Piece).start <= index) low = middle + 1;
    else high = middle;
  }
  return pieces[low - 1];
}
