import { LIMITS } from "@tidemill/contract/limits";
import { givenText } from "../given-text.ts";
import { isStorable } from "./storable.ts";

/** A kind of signal, with the type of its payload. */
export interface SignalDefinition<Payload = unknown> {
  readonly kind: "signal";
  /** Exists only in types. */
  readonly types?: { readonly payload: Payload };
}

/** The signals that a workflow waits for, by the name of the step that waits. */
export type WorkflowSignals = Readonly<Record<string, SignalDefinition>>;

/** The signals of a workflow that declares none. */
export type NoSignals = Readonly<Record<never, never>>;

/** What a signal is completed with. */
export type PayloadOf<Signal> = Signal extends SignalDefinition<infer Payload> ? Payload : unknown;

/**
 * Defines a kind of signal that a workflow waits for, with the type of its payload.
 *
 * ```ts
 * const onboard = workflow({ id: "user.onboard", signals: { approval: signal<{ ok: boolean }>() } }, async ({ step, run }) => {
 *   const { ok } = await step.waitForSignal("approval", { signal: `approve.${run.id}`, timeout: "48h" });
 * });
 * await tidemill.signal(onboard.signals.approval, `approve.${runId}`, { ok: true });
 * ```
 */
export const signal = <Payload = unknown>(): SignalDefinition<Payload> => ({ kind: "signal" });

/** @throws {TypeError} for anything that is not an object of signals */
export function checkSignals(of: string, signals: unknown): void {
  if (signals === undefined) return;
  const example = "{ approval: signal<{ ok: boolean }>() }";
  if (typeof signals !== "object" || signals === null || Array.isArray(signals))
    throw new TypeError(`signals${of} must be an object such as ${example}, not ${givenText(signals)}.`);
  for (const [name, one] of Object.entries(signals)) checkSignal(`signals.${name}${of}`, one);
}

/** @throws {TypeError} for anything that `signal()` has not made */
export function checkSignal(what: string, given: unknown): void {
  if ((given as SignalDefinition | null)?.kind !== "signal")
    throw new TypeError(`${what} must be made by signal(), not ${givenText(given)}.`);
}

/** @throws {TypeError} for an id that a signal cannot have */
export function signalId(id: string): string {
  if (typeof id === "string" && id.length > 0 && id.length <= LIMITS.signalIdLength && id !== "." && id !== ".." && isStorable(id))
    return id;
  const rule = `1 to ${LIMITS.signalIdLength} characters other than "." and "..", without NUL or lone surrogates`;
  throw new TypeError(`The id of a signal must be ${rule}, not ${givenText(id)}.`);
}
