/** Represents a signal that nobody completes, so that the wait for it times out. */
export const timesOut: unique symbol = Symbol("timesOut");

/**
 * In `mocks`: represents a step that does not end. Then the first sleep that runs at the same time ends, or its `timeout` passes, by the
 * virtual clock. A mock function may return it, for example in the first attempt.
 */
export const neverEnds: unique symbol = Symbol("neverEnds");

/** Payloads of signals, by their ids. A function is called when the run waits; `timesOut` lets the wait time out. */
export type SignalAnswers = Readonly<Record<string, unknown>>;

/** What completes a signal, if anything does. */
export type Answer = { readonly kind: "payload"; readonly payload: unknown } | { readonly kind: "timesOut" } | null;

/** Whether something completes a signal. */
export const hasPayload = (answers: SignalAnswers, signal: string): boolean =>
  Object.hasOwn(answers, signal) && answers[signal] !== timesOut;

export function answerTo(answers: SignalAnswers, signal: string): Answer {
  if (!Object.hasOwn(answers, signal)) return null;
  const given = answers[signal];
  if (given === timesOut) return { kind: "timesOut" };
  return { kind: "payload", payload: typeof given === "function" ? given() : given };
}
