import { LIMITS } from "@tidemill/contract/limits";
import { checkNames, checkObject } from "../check-names.ts";
import { givenText } from "../given-text.ts";
import { checkSchema } from "../schema.ts";
import { type Duration, durationMs } from "./duration.ts";
import { checkSignals } from "./signal.ts";
import { type Starts, startSettings } from "./start.ts";
import { isStorable } from "./storable.ts";

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Options of a handler over HTTP that are easily looked for here, and where they belong. */
const OF_HANDLER: Readonly<Record<string, string>> = {
  endpointUrl: "handler.register({ endpointUrl })",
  endpointTimeout: "handler.register({ endpointUrl, endpointTimeout })",
  secret: "serve({ workflows, secret })",
};

/**
 * Checks the options of a workflow where it is defined. The service checks the same when a worker registers the workflow.
 *
 * @param known the options that exist
 * @throws {TypeError} naming the option that is wrong
 */
export function checkWorkflow(options: object, known: object): void {
  checkObject("The options of workflow", options);
  for (const [name, call] of Object.entries(OF_HANDLER))
    if (Object.hasOwn(options, name)) throw new TypeError(`${name} is not an option of workflow. Pass it to the handler: ${call}.`);
  checkNames("workflow", options, known);
  const { id, on, input, signals, attempts, backoff, concurrency, version, onSuccess, onFailure, onCancel } = options as Readonly<
    Record<string, unknown>
  >;
  if (typeof id !== "string" || !ID.test(id))
    throw new TypeError(
      `id must be letters, digits, dots, hyphens and underscores, begin with a letter or digit, and have at most 128, not ${givenText(id)}.`,
    );
  const of = ` of the workflow ${id}`;
  startSettings(on as Starts | undefined);
  checkSchema("input", input);
  checkSignals(of, signals);
  checkWhole(`attempts${of}`, attempts, 1, LIMITS.attempts);
  checkWhole(`concurrency${of}`, concurrency, 1, LIMITS.concurrency);
  if (backoff !== undefined) {
    checkNames(`backoff${of}`, backoff as object, { delay: true });
    checkBackoff(`backoff.delay${of}`, (backoff as { delay?: unknown }).delay);
  }
  if (
    version !== undefined &&
    (typeof version !== "string" || version === "" || version.length > LIMITS.codeVersionLength || !isStorable(version))
  )
    throw new TypeError(`version${of} must be a string of 1 to ${LIMITS.codeVersionLength} characters, not ${givenText(version)}.`);
  for (const [name, hook] of Object.entries({ onSuccess, onFailure, onCancel })) {
    if (hook !== undefined && typeof hook !== "function") throw new TypeError(`${name}${of} must be a function.`);
  }
}

function checkBackoff(what: string, delay: unknown): void {
  try {
    const ms = delay === undefined ? 0 : durationMs("delay", delay as Duration);
    if (Number.isInteger(ms) && ms <= LIMITS.backoffMs) return;
  } catch {}
  throw new TypeError(`${what} must be whole milliseconds, or a string such as "10s", of at most 24 hours, not ${givenText(delay)}.`);
}

function checkWhole(what: string, value: unknown, min: number, max: number): void {
  if (value === undefined || (Number.isInteger(value) && (value as number) >= min && (value as number) <= max)) return;
  throw new TypeError(`${what} must be a whole number from ${min} to ${max}, not ${givenText(value)}.`);
}
