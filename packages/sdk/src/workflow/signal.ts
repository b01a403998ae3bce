import { isStorable } from "./storable.ts";

/** A kind of signal, with the type of its payload. */
export interface SignalDefinition<Payload = unknown> {
  readonly kind: "signal";
  /** Present in types alone. */
  readonly types?: { readonly payload: Payload };
}

/**
 * Defines a kind of signal that a workflow waits for, with the type of its payload.
 *
 * ```ts
 * const approval = signal<{ ok: boolean }>();
 * const { ok } = await step.waitForSignal("approval", { signal: `approve.${user.id}`, timeout: "48h", of: approval });
 * await tidemill.signals.complete(`approve.${user.id}`, { ok: true }, { of: approval });
 * ```
 */
export const signal = <Payload = unknown>(): SignalDefinition<Payload> => ({ kind: "signal" });

const MAX_ID = 256;

/** @throws {TypeError} for an id that a signal cannot have */
export function signalId(id: string): string {
  if (typeof id === "string" && id.length > 0 && id.length <= MAX_ID && id !== "." && id !== ".." && isStorable(id)) return id;
  const rule = `1 to ${MAX_ID} characters other than "." and "..", without NUL or lone surrogates`;
  throw new TypeError(`The id of a signal must be ${rule}, not ${JSON.stringify(id)}.`);
}
