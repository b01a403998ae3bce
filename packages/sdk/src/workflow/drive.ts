import { wait } from "../wait.ts";
import { JournalMismatchError } from "./errors.ts";
import type { Execution } from "./execution.ts";
import { isLeaseLost } from "./lease-lost.ts";
import { notStored } from "./not-stored.ts";
import type { ReplayCheck } from "./replay-check.ts";
import { SleepTimers } from "./sleep-timers.ts";
import { promisesDone, turn } from "./turn.ts";

interface DriveOptions {
  readonly check?: ReplayCheck | null;
  readonly onlyUndoes?: boolean;
}

/**
 * Takes an execution forward until it ends.
 *
 * 1. Outcomes are delivered one by one, in the order of the journal, each a turn of the event loop after the one before.
 * 2. Steps that are not in the journal begin when the program has asked for all that are, has got all outcomes, and what it has seen is
 *    stored (I8). That needs no turn of the event loop. Those that wait are stored on the same condition.
 * 3. In development, a replay of the journal so far must ask for the same steps, before they begin.
 * 4. The execution is suspended when no step is in progress, the program waits for a step that waits, and it has asked for nothing more for
 *    a turn of the event loop.
 *
 * All but 2. happens only when the program has gone as far as it can without a step: a turn after it started, or got an outcome.
 *
 * @param onlyUndoes whether the program is only asked what undoes its steps: then no step begins
 */
export async function drive(execution: Execution, { check = null, onlyUndoes = false }: DriveOptions = {}): Promise<void> {
  const patience = new AbortController();
  const misfit = new MisfitWatch(execution, patience.signal);
  const sleeps = new SleepTimers(execution, patience.signal);
  const since = new Turn(() => execution.changes.notify());
  since.begin(execution);
  for (;;) {
    await promisesDone();
    execution.changes.seen();
    if (execution.end) break;
    if (since.isOver) {
      if (onlyUndoes && execution.toUndo.every(({ key }) => execution.undoOf(key))) execution.finish({ kind: "suspended" });
      if (execution.deliver()) {
        since.begin(execution);
        continue;
      }
      if (!execution.isThroughJournal) misfit.watch();
      else if (onlyUndoes) execution.finish({ kind: "suspended" });
      else if (check?.isDue(execution)) {
        const error = await check.afterStep(execution);
        if (error) execution.finish({ kind: "threw", error });
        continue;
      } else advance(execution, since);
    } else if (!check && !onlyUndoes && execution.goesOn) advance(execution, since);
    sleeps.start();
    await execution.changes.next();
  }
  // Without a reason, the runtime would make an error with a stack.
  patience.abort(execution.end);
}

/** A turn of the event loop, and whether it is over. */
class Turn {
  readonly #onOver: () => void;
  isOver = false;
  /** How much the program had asked for when it began. */
  asked = 0;

  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  begin({ requests }: Execution): void {
    this.isOver = false;
    this.asked = requests.length;
    void turn().then(() => {
      this.isOver = true;
      this.#onOver();
    });
  }
}

function advance(execution: Execution, since: Turn): void {
  const { waiting, executing, outbox } = execution;
  if (!outbox.hasSeen) {
    execution.beginNewSteps();
    // A sleep beside a step in progress begins now, not when the execution is suspended.
    if (executing.size > 0) storeWaiting(execution);
  }
  // What the service refuses decides how the execution ends.
  const isBusy = executing.size > 0 || execution.hasNewSteps || outbox.hasCalls || outbox.isSending;
  if (!isBusy && waiting.isAwaited) {
    if (since.asked === execution.requests.length) execution.finish({ kind: "suspended" });
    else since.begin(execution);
  } else if (outbox.hasFinal || outbox.hasCalls || execution.hasNewSteps || mustStoreWaiting(execution)) void send(execution);
}

const mustStoreWaiting = ({ executing, waiting }: Execution): boolean => executing.size > 0 && waiting.unstored.length > 0;

function storeWaiting({ waiting, outbox }: Execution): void {
  for (const reported of waiting.takeUnstored()) outbox.add(reported);
}

async function send(execution: Execution): Promise<void> {
  const steps = execution.outbox.unsent;
  try {
    if (await execution.outbox.send()) execution.changes.notify();
  } catch (error) {
    if (execution.host.signal.aborted || isLeaseLost(error)) {
      execution.finish({ kind: "aborted" });
    } else execution.finish({ kind: "threw", error: notStored(steps, error) });
  }
}

/** Ends an execution whose program does not reach steps of the journal, although it waits for others. */
class MisfitWatch {
  readonly #execution: Execution;
  readonly #signal: AbortSignal;
  #seen = "";

  constructor(execution: Execution, signal: AbortSignal) {
    this.#execution = execution;
    this.#signal = signal;
  }

  /** Gives the program time: it may be busy with something other than steps. Each step that it reaches gives it more. */
  watch(): void {
    const { journal, cancelled, host } = this.#execution;
    const now = () => `${journal.unreached} ${cancelled.size}`;
    const seen = now();
    if (!this.#execution.hasOpenSteps || seen === this.#seen) return;
    this.#seen = seen;
    const check = () => {
      if (now() !== seen || !this.#execution.hasOpenSteps) return;
      const [stuck] = cancelled;
      const unreached = journal.firstUnreached;
      const error =
        unreached === undefined && stuck ? JournalMismatchError.cancelled(stuck.key) : JournalMismatchError.neverReached(unreached ?? "");
      this.#execution.finish({ kind: "threw", error });
    };
    void wait(host.misfitAfterMs, this.#signal).then(check, () => {});
  }
}
