import { checkNames } from "./check-names.ts";
import { readVariable } from "./environment.ts";
import { givenText } from "./given-text.ts";

/** Settings of a client. */
export interface TidemillOptions {
  /** Address of the service, for example `https://tidemill.example.com`. Default: `TIDEMILL_URL`. */
  readonly url?: string | undefined;
  /** A workspace key. Default: `TIDEMILL_KEY`. */
  readonly key?: string | undefined;
  /** How long one request may take, its response included. Milliseconds; 20,000 by default. */
  readonly timeoutMs?: number | undefined;
  /** How long a failed call is retried, if that is safe. Milliseconds; 60,000 by default. 0: never. */
  readonly retryForMs?: number | undefined;
  /** Whether concurrent `enqueue` calls for a queue share requests. True by default. */
  readonly batching?: boolean | undefined;
  /** Sends all requests. By default the client does, over connections of its own on Node, and elsewhere by the runtime's `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Replaces `JSON.parse` for responses, for example to keep all digits of numbers beyond 2^53. It must throw if the text is not JSON. */
  readonly parseJson?: ((text: string) => unknown) | undefined;
}

/** What any call accepts as its last argument. */
export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. A request that was already sent may still take effect. */
  readonly signal?: AbortSignal | undefined;
  /** How long one request of this call may take. Milliseconds. */
  readonly timeoutMs?: number | undefined;
}

export interface Settings {
  readonly url: string;
  readonly key: string;
  readonly timeoutMs: number;
  readonly retryForMs: number;
  readonly batching: boolean;
  /** Undefined: that of the runtime. */
  readonly fetch: typeof fetch | undefined;
  readonly parseJson: (text: string) => unknown;
}

const OPTIONS = { url: true, key: true, timeoutMs: true, retryForMs: true, batching: true, fetch: true, parseJson: true } satisfies Record<
  keyof TidemillOptions,
  true
>;
const CALL_OPTIONS = { signal: true, timeoutMs: true } satisfies Record<keyof CallOptions, true>;

const DEFAULTS = { timeoutMs: 20_000, retryForMs: 60_000, batching: true };

/** @throws {TypeError} naming the option that is missing or wrong */
export function readOptions(options: TidemillOptions): Settings {
  checkNames("Tidemill", options, OPTIONS);
  const url = options.url ?? readVariable("TIDEMILL_URL");
  const key = options.key ?? readVariable("TIDEMILL_KEY");
  if (url === undefined) throw new TypeError("url is required: pass { url }, or set TIDEMILL_URL.");
  if (key === undefined) throw new TypeError("key is required: pass { key }, or set TIDEMILL_KEY.");
  if (typeof key !== "string" || !/^[\x21-\x7e]+$/.test(key))
    throw new TypeError("key must be a workspace key: svc_ws_ and 38 letters and digits.");
  const settings = { ...DEFAULTS, ...withoutUndefined(options) };
  return {
    url: baseUrl(url),
    key,
    timeoutMs: milliseconds("timeoutMs", settings.timeoutMs, 1),
    retryForMs: milliseconds("retryForMs", settings.retryForMs, 0),
    batching: ofType("batching", "boolean", settings.batching),
    fetch: options.fetch === undefined ? undefined : ofType("fetch", "function", options.fetch),
    parseJson: ofType("parseJson", "function", options.parseJson ?? ((text) => JSON.parse(text))),
  };
}

/** @throws {TypeError} for an option that no call has */
export const checkCall = (call: CallOptions): void => checkNames("a call", call, CALL_OPTIONS);

function baseUrl(url: string): string {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) throw new TypeError(`url must be an http or https URL, not "${String(url)}".`);
  if (parsed.username !== "" || parsed.password !== "")
    throw new TypeError("url must not contain a user or password: the key goes into { key }.");
  if (/[?#]/.test(url)) throw new TypeError("url must not contain a query or a fragment.");
  return parsed.href.replace(/\/+$/, "");
}

function ofType<Value>(name: string, type: "boolean" | "function", value: Value): Value {
  if (typeof value === type) return value;
  throw new TypeError(`${name} must be a ${type}, not ${givenText(value)}.`);
}

/** Timers cannot wait longer. */
const MAX_MS = 2_147_483_647;

export function milliseconds(name: string, value: number, min: number): number {
  if (typeof value === "number" && value >= min && value <= MAX_MS) return value;
  throw new TypeError(`${name} must be a number of milliseconds from ${min} to ${MAX_MS}, not ${givenText(value)}.`);
}

const withoutUndefined = <Options extends object>(options: Options) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Options]?: NonNullable<Options[Name]>;
  };
