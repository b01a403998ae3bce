import { LIMITS } from "@tidemill/contract/limits";
import { givenText } from "../given-text.ts";
import { type Duration, durationMs } from "./duration.ts";

/**
 * @returns milliseconds, whole
 * @throws {TypeError} if it is not a duration of at most 24 hours
 */
export function invokeTimeoutMs(timeout: Duration | undefined): number {
  const ms = timeout === undefined ? Number.NaN : Math.ceil(milliseconds(timeout));
  if (ms >= 1 && ms <= LIMITS.invokeTimeoutMs) return ms;
  const given = timeout === undefined ? "" : `, not ${givenText(timeout)}`;
  throw new TypeError(`step.invoke needs a timeout of at most 24 hours${given}. The run that it starts may take longer.`);
}

function milliseconds(timeout: Duration): number {
  try {
    return durationMs("timeout", timeout);
  } catch {
    return Number.NaN;
  }
}

/** A duration of at most 24 hours, checked as far as its type tells its length. */
export type AtMostADay<Given extends Duration> = Given extends unknown
  ? IsLiteral<Given> extends true
    ? IsTooLong<Given> extends true
      ? "The timeout is at most 24 hours."
      : Given
    : Given
  : never;

/** `number`, or `${number}h`, says nothing about how long. */
type IsLiteral<T extends Duration> = Record<never, never> extends Record<T, 1> ? false : true;

type IsTooLong<T extends Duration> = T extends number
  ? `${T}` extends `${string}e+${string}`
    ? true
    : IsMore<`${T}`, "86400000">
  : T extends `${infer Amount}ms`
    ? IsMore<Amount, "86400000">
    : T extends `${infer Amount}s`
      ? IsMore<Amount, "86400">
      : T extends `${infer Amount}m`
        ? IsMore<Amount, "1440">
        : T extends `${infer Amount}h`
          ? IsMore<Amount, "24">
          : T extends `${infer Amount}d`
            ? IsMore<Amount, "1">
            : false;

/** Compares decimals, digit by digit. `Max` is a whole number. */
type IsMore<Amount extends string, Max extends string> = Amount extends `${infer Whole}.${infer Fraction}`
  ? WithoutZeros<Whole> extends Max
    ? WithoutZeros<Fraction> extends ""
      ? false
      : true
    : IsMoreDigits<WithoutZeros<Whole>, Max>
  : IsMoreDigits<WithoutZeros<Amount>, Max>;

type WithoutZeros<Digits extends string> = Digits extends `0${infer Rest}` ? WithoutZeros<Rest> : Digits;

/** The longer number is more; of two of the same length, the one with the first digit that is more. */
type IsMoreDigits<A extends string, B extends string, SoFar extends Order = "same"> = A extends `${infer DigitA}${infer RestA}`
  ? B extends `${infer DigitB}${infer RestB}`
    ? IsMoreDigits<RestA, RestB, SoFar extends "same" ? OrderOf<DigitA, DigitB> : SoFar>
    : true
  : B extends ""
    ? SoFar extends "more"
      ? true
      : false
    : false;

type Order = "less" | "same" | "more";

type OrderOf<A extends string, B extends string> = A extends B
  ? "same"
  : "0123456789" extends `${string}${A}${string}${B}${string}`
    ? "less"
    : "more";
