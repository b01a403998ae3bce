import { TidemillError } from "../error.ts";
import { wait } from "../wait.ts";
import { NonRetryableError } from "../worker/errors.ts";
import { JournalMismatchError } from "./errors.ts";
import { type Execution, isLeaseLost } from "./execution.ts";
import { failureOf } from "./failure.ts";
import { turn } from "./turn.ts";

/**
 * Takes an execution forward until it ends. It acts only when the program has gone as far as it can without a step: after a turn of the
 * event loop.
 *
 * 1. Outcomes are delivered one by one, in the order of the journal.
 * 2. Steps that are not in the journal begin when the program has asked for all that are, and when what it has seen is stored (I8).
 * 3. The execution is suspended when no step is in progress, and the program waits for a step that waits.
 *
 * @param onlyUndoes whether the program is only asked what undoes its steps: then no step begins
 */
export async function drive(execution: Execution, onlyUndoes = false): Promise<void> {
  const patience = new AbortController();
  const misfit = new MisfitWatch(execution, patience.signal);
  for (;;) {
    await turn();
    execution.changes.seen();
    if (execution.end) break;
    if (onlyUndoes && execution.toUndo.every(({ key }) => execution.undos.has(key))) execution.finish({ kind: "suspended" });
    if (execution.deliver()) continue;
    if (execution.journal.unasked > 0) misfit.watch();
    else if (onlyUndoes) execution.finish({ kind: "suspended" });
    else advance(execution);
    await execution.changes.next();
  }
  patience.abort();
}

function advance(execution: Execution): void {
  const { unbegun, waiting, executing, outbox } = execution;
  if (!outbox.hasSeen) {
    for (const begin of unbegun.values()) begin();
    unbegun.clear();
  }
  // A sleep beside a step in progress begins now, not when the execution is suspended.
  if (executing.size > 0) storeWaiting(execution);
  if (outbox.hasHeld || unbegun.size > 0) void send(execution);
  else if (executing.size === 0 && [...waiting.keys()].some((step) => step.isAwaited)) execution.finish({ kind: "suspended" });
}

function storeWaiting({ waiting, outbox }: Execution): void {
  for (const [step, reported] of waiting) {
    if (!reported) continue;
    outbox.add(reported, { early: false });
    waiting.set(step, null);
  }
}

async function send(execution: Execution): Promise<void> {
  const keys = execution.outbox.unsent.map(({ key }) => `"${key}"`);
  try {
    await execution.outbox.send();
    execution.changes.notify();
  } catch (error) {
    if (execution.host.signal.aborted || isLeaseLost(error)) {
      execution.finish({ kind: "aborted" });
    } else execution.finish({ kind: "threw", error: refusal(keys.join(", "), error) });
  }
}

function refusal(keys: string, error: unknown): Error {
  const isPermanent = error instanceof TidemillError && error.status !== null && error.status < 500;
  const message = `The outcome of step ${keys} could not be stored: ${failureOf(error).message}`;
  return isPermanent ? new NonRetryableError(message, { cause: error }) : new Error(message, { cause: error });
}

/** Ends an execution whose program does not come to steps that the journal has, though it waits for others. */
class MisfitWatch {
  readonly #execution: Execution;
  readonly #signal: AbortSignal;
  #unasked = 0;

  constructor(execution: Execution, signal: AbortSignal) {
    this.#execution = execution;
    this.#signal = signal;
  }

  /** Gives the program time: it may be busy with something else than steps. Each step that it comes to gives it more. */
  watch(): void {
    const { journal, keys, host } = this.#execution;
    if (!keys.hasOpen || journal.unasked === this.#unasked) return;
    const { unasked } = journal;
    this.#unasked = unasked;
    const check = () => {
      if (journal.unasked !== unasked || !keys.hasOpen) return;
      this.#execution.finish({ kind: "threw", error: JournalMismatchError.neverAsked(journal.firstUnasked ?? "") });
    };
    void wait(host.misfitAfterMs, this.#signal).then(check, () => {});
  }
}
