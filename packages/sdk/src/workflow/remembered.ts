import { NonRetryableError } from "../worker/errors.ts";
import { failureOf } from "./failure.ts";

/** A value as it comes back from JSON: dates are texts, undefined is null, methods are gone. */
export type Remembered<T> = unknown extends T
  ? T
  : // biome-ignore lint/suspicious/noConfusingVoidType: what a function without a result returns.
    T extends undefined | void
    ? null
    : T extends string | number | boolean | null
      ? T
      : T extends { toJSON(): infer J }
        ? Remembered<J>
        : T extends bigint | symbol | ((...args: never) => unknown)
          ? never
          : T extends Map<unknown, unknown> | Set<unknown>
            ? Record<string, never>
            : T extends readonly unknown[]
              ? { [K in keyof T]: Remembered<T[K]> }
              : { [K in keyof T as IsLeftOut<K, T[K]> extends true ? never : K]: Member<T[K]> };

type IsLeftOut<K, V> = K extends symbol ? true : V extends symbol | ((...args: never) => unknown) ? true : false;

/** A member that may be undefined may be left out. */
type Member<V> = V extends undefined ? V : Remembered<V>;

/**
 * A value as a replay will see it, so that the first execution sees the same.
 *
 * @throws {NonRetryableError} for what has no JSON
 */
export function remember(value: unknown, whose: string): unknown {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? null : JSON.parse(text);
  } catch (error) {
    throw new NonRetryableError(`The result of ${whose} has no JSON: ${failureOf(error).message}`, { cause: error });
  }
}
