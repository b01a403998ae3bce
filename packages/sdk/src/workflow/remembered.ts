import { LIMITS } from "@tidemill/contract/limits";
import { NonRetryableError } from "../worker/errors.ts";
import { jsonOf } from "../worker/json-of.ts";

declare const notRemembered: unique symbol;

/** Stands for a value that JSON does not keep. It cannot be used. */
interface NotRemembered<What extends string> {
  readonly [notRemembered]: What;
}

/** A value as it comes back from JSON: dates are strings, undefined is null, and methods are missing. */
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
          : IsError<T> extends true
            ? Members<T, "stack" | "cause">
            : [LostName<T>] extends [never]
              ? T extends readonly unknown[]
                ? RememberedList<T>
                : Members<T>
              : NotRemembered<LostName<T>>;

/** A list is not mapped, as a tuple is: the compiler would not come to an end with a type such as `Json`, which has lists of itself. */
type RememberedList<T extends readonly unknown[]> = T[number][] extends T
  ? T extends unknown[]
    ? Remembered<T[number]>[]
    : readonly Remembered<T[number]>[]
  : { [K in keyof T]: Remembered<T[K]> };

/** What has a name and a message is no Error for that, nor if it always has a stack. */
type IsError<T> = [T, "stack"] extends [Error, keyof T] ? (Record<never, never> extends Pick<T, "stack" & keyof T> ? true : false) : false;

type Method = (...args: never) => unknown;

/**
 * What a value is that JSON does not keep; never for others. Not every program has the types of the web, so those are known by their
 * members.
 */
type LostName<T> = T extends RegExp
  ? "RegExp"
  : T extends ReadonlyMap<unknown, unknown>
    ? "Map"
    : T extends ReadonlySet<unknown>
      ? "Set"
      : T extends ArrayBufferView | ArrayBufferLike
        ? "ArrayBuffer or typed array"
        : T extends { readonly bodyUsed: boolean; arrayBuffer(): PromiseLike<unknown> }
          ? "Response or Request"
          : T extends { readonly size: number; readonly type: string; arrayBuffer(): PromiseLike<unknown> }
            ? "Blob or File"
            : T extends { append: Method; delete: Method; get: Method; has: Method; set: Method; forEach: Method }
              ? "Headers, FormData or URLSearchParams"
              : T extends Stream
                ? "stream"
                : T extends { readonly aborted: boolean; throwIfAborted: Method }
                  ? "AbortSignal"
                  : T extends PromiseLike<unknown>
                    ? "Promise"
                    : T extends
                          | (Iterator<unknown, unknown, never> & { [Symbol.iterator](): unknown })
                          | (AsyncIterator<unknown, unknown, never> & { [Symbol.asyncIterator](): unknown })
                      ? "iterator or generator"
                      : never;

/** A ReadableStream, a WritableStream, a TransformStream, or a stream of Node. */
type Stream =
  | { readonly locked: boolean; getReader: Method }
  | { readonly locked: boolean; getWriter: Method }
  | { readonly readable: { getReader: Method }; readonly writable: { getWriter: Method } }
  | { pipe: Method; on: Method };

/** @typeParam Dropped names of members that are left out, too */
type Members<T, Dropped = never> = {
  [K in keyof T as K extends Dropped ? never : IsLeftOut<K, T[K]> extends true ? never : K]: Member<T[K]>;
};

type IsLeftOut<K, V> = K extends symbol ? true : V extends symbol | ((...args: never) => unknown) ? true : false;

/** A member that may be undefined may be left out. */
type Member<V> = V extends undefined ? V : Remembered<V>;

/** The largest number of UTF-8 bytes per character of a string. */
const MAX_BYTES_OF_CHARACTER = 3;

/**
 * A value as a replay will see it, so that the first execution sees the same.
 *
 * @param whose what it belongs to, for example `step "load user"`
 * @param what the kind of value
 * @throws {NonRetryableError} for a value that JSON does not keep, or more than the service stores
 */
export function remember(value: unknown, whose: string, what = "result"): unknown {
  const subject = `The ${what} of ${whose}`;
  const text = jsonOf(value, subject);
  return text === undefined ? null : parsed(text, subject);
}

/** @throws {NonRetryableError} for more than the service stores */
function parsed(text: string, subject: string): unknown {
  const bytes = text.length * MAX_BYTES_OF_CHARACTER > LIMITS.payloadBytes ? new TextEncoder().encode(text).length : 0;
  if (bytes > LIMITS.payloadBytes)
    throw new NonRetryableError(
      `${subject} has ${bytes} bytes of JSON; the limit is ${LIMITS.payloadBytes} bytes (1 MiB). Store it elsewhere, and use its id or address.`,
    );
  const copy: unknown = JSON.parse(text);
  if (isDeeper(copy, LIMITS.jsonDepth))
    throw new NonRetryableError(`${subject} is nested deeper than ${LIMITS.jsonDepth} levels, which is the limit.`);
  return copy;
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" && value !== null && (levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1)));
