import { checkNames } from "../check-names.ts";
import { type Moment, momentMs } from "../clock.ts";
import { givenText } from "../given-text.ts";
import type { SignalAnswers } from "./answers.ts";
import type { Failures, Mocks } from "./substitutes.ts";

/** The options that are checked. */
interface Options {
  readonly mocks?: Mocks;
  readonly signals?: SignalAnswers;
  readonly fail?: Failures;
  readonly crash?: string;
  readonly startAt?: Moment;
  readonly maxExecutions?: number;
}

/** The options that exist, and the values of `crash`. */
interface Known {
  readonly options: object;
  readonly crash: object;
}

/** @throws {TypeError} naming the option that is wrong */
export function checkTestOptions(options: Options, known: Known): void {
  checkNames("testWorkflow", options, known.options);
  const { mocks, signals, fail, crash, startAt, maxExecutions = 1 } = options;
  for (const [name, value] of Object.entries({ mocks, signals, fail })) {
    if (value !== undefined && (typeof value !== "object" || value === null)) throw new TypeError(`${name} must be an object.`);
  }
  for (const [step, failure] of Object.entries(fail ?? {})) {
    if (!(failure instanceof Error) && !(Number.isInteger(failure) && failure >= 0))
      throw new TypeError(`fail.${step} must be an Error, or how many times the step fails, not ${givenText(failure)}.`);
  }
  if (crash !== undefined && !Object.hasOwn(known.crash, crash))
    throw new TypeError(
      `crash must be ${Object.keys(known.crash)
        .map((mode) => JSON.stringify(mode))
        .join(" or ")}, not ${givenText(crash)}.`,
    );
  if (startAt !== undefined && Number.isNaN(momentMs(startAt)))
    throw new TypeError(`startAt must be a Date, or a string such as "2026-11-23T09:30:00Z", not ${givenText(startAt)}.`);
  if (!Number.isInteger(maxExecutions) || maxExecutions < 1)
    throw new TypeError(`maxExecutions must be a whole number of at least 1, not ${givenText(maxExecutions)}.`);
}
