import { wait } from "../wait.ts";
import { JournalMismatchError } from "./errors.ts";
import { nextTurn, promisesDone } from "./event-loop.ts";
import type { Execution } from "./execution.ts";
import { isLeaseLost } from "./lease-lost.ts";
import { notStored } from "./not-stored.ts";
import type { ReplayCheck } from "./replay-check.ts";
import { SleepTimers } from "./sleep-timers.ts";

interface DriveOptions {
  readonly check?: ReplayCheck | null;
  readonly onlyUndoes?: boolean;
}

/**
 * Takes an execution forward until it ends. The program is idle when it has gone as far as it can without a step: a turn of the event loop
 * after it started, or got an outcome.
 *
 * 1. Outcomes are delivered to an idle program, one by one, in the order of the journal.
 * 2. Steps that are not in the journal begin when the program has asked for all that are, has got all outcomes, and what it has seen is
 *    stored (I8). The program need not be idle. Steps that wait beside one in progress are stored on the same condition. Waits for signals
 *    are stored before the steps beside them begin. If the outcome of one is there already, and no step is in progress, none begins: the
 *    execution is suspended, and the next one begins with the outcome.
 * 3. In development, a replay of the journal so far must ask for the same steps, before they begin. This check needs an idle program.
 * 4. The execution is suspended when no step is in progress and the program waits for a step that waits. It must be idle, and have asked
 *    for nothing more for a turn of the event loop.
 * 5. An idle program that has not asked for all steps of the journal gets some time. Then it does not fit the journal.
 * 6. In an execution that only undoes, no step begins. It is suspended when the program has asked for all steps to undo, or can go no
 *    further.
 * 7. An execution whose time is limited begins no step after half of it, if it has stored one. It ends when no step is in progress and what
 *    the program has seen is stored, and the next one continues at once. So it ends in time if each step takes less than half of it, and
 *    each execution gets further than the one before.
 *
 * @param onlyUndoes whether the program is only asked what undoes its steps
 */
export async function drive(execution: Execution, { check = null, onlyUndoes = false }: DriveOptions = {}): Promise<void> {
  const patience = new AbortController();
  const misfit = new MisfitWatch(execution, patience.signal);
  const sleeps = new SleepTimers(execution, patience.signal);
  const program = new IdleWatch(execution);
  program.resumes();
  for (;;) {
    await promisesDone();
    execution.changes.seen();
    if (execution.end) break;
    if (program.isIdle) {
      if (onlyUndoes && execution.toUndo.every(({ key }) => execution.undoOf(key))) {
        // Rule 6.
        execution.finish({ kind: "suspended" });
      }
      if (execution.deliver()) {
        // Rule 1.
        program.resumes();
        continue;
      }
      if (!execution.isThroughJournal) {
        // Rule 5.
        misfit.watch();
      } else if (onlyUndoes) {
        // Rule 6.
        execution.finish({ kind: "suspended" });
      } else if (check?.isDue(execution)) {
        // Rule 3.
        const error = await check.afterStep(execution);
        if (error) execution.finish({ kind: "threw", error });
        continue;
      } else {
        // Rules 2 and 4.
        advance(execution, program);
      }
    } else if (!check && !onlyUndoes && execution.goesOn && !isHeld(execution) && !execution.mustYield) {
      // Rule 2, if rule 7 lets it.
      advance(execution, program);
    }
    sleeps.start();
    await execution.changes.next();
  }
  // Without a reason, the runtime would make an error with a stack.
  patience.abort(execution.end);
}

/** Knows when the program is idle. */
class IdleWatch {
  readonly #execution: Execution;
  #isIdle = false;
  /** How much the program had requested when it resumed. */
  #requests = 0;

  constructor(execution: Execution) {
    this.#execution = execution;
  }

  /** The program starts, gets an outcome, or has requested more. */
  resumes(): void {
    const { requests, changes } = this.#execution;
    this.#isIdle = false;
    this.#requests = requests.length;
    void nextTurn().then(() => {
      this.#isIdle = true;
      changes.notify();
    });
  }

  get isIdle(): boolean {
    return this.#isIdle;
  }

  /** Whether the program has requested something since it resumed. */
  get hasRequestedMore(): boolean {
    return this.#execution.requests.length > this.#requests;
  }
}

function advance(execution: Execution, program: IdleWatch): void {
  const { waiting, executing, outbox } = execution;
  const yields = execution.hasNewSteps && execution.mustYield;
  // Rule 7.
  if (yields && executing.size === 0 && !outbox.hasSeen && !outbox.hasCalls && !outbox.isSending) {
    execution.finish({ kind: "yielded" });
    return;
  }
  // Rule 2.
  if (!outbox.hasSeen) {
    if (execution.hasNewSteps && waiting.hasNewWaits) for (const reported of waiting.takeUnstored()) outbox.add(reported);
    else if (!yields && !isHeld(execution)) execution.beginNewSteps();
    // A sleep beside a step in progress begins now, not when the execution is suspended.
    if (executing.size > 0) for (const reported of waiting.takeUnstored()) outbox.add(reported);
  }
  // Rule 4. What the service refuses decides how the execution ends.
  const goesOn = execution.hasNewSteps && !isHeld(execution);
  const isBusy = executing.size > 0 || goesOn || outbox.hasCalls || outbox.isSending;
  if (!isBusy && waiting.isAwaited) {
    if (program.hasRequestedMore) program.resumes();
    else execution.finish({ kind: "suspended" });
  } else if (mustSend(execution)) void send(execution);
}

/** Whether new steps wait for the next execution, which begins with the outcome of a wait. */
const isHeld = ({ executing, waiting }: Execution): boolean => executing.size === 0 && waiting.isReady;

const mustSend = ({ outbox, executing, waiting, hasNewSteps }: Execution): boolean =>
  outbox.hasFinal || outbox.hasCalls || hasNewSteps || (executing.size > 0 && waiting.unstored.length > 0);

async function send(execution: Execution): Promise<void> {
  const steps = execution.outbox.unsent;
  try {
    if (await execution.outbox.send()) execution.changes.notify();
  } catch (error) {
    if (execution.host.signal.aborted || isLeaseLost(error)) {
      execution.finish({ kind: "aborted" });
    } else execution.failToStore(notStored(steps, error));
  }
}

/** Ends an execution whose program does not reach steps of the journal, although it waits for others (rule 5). */
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
        unreached === undefined && stuck
          ? JournalMismatchError.cancelled(stuck.key)
          : JournalMismatchError.neverReached(unreached ?? "", this.#execution.firstUnknown);
      this.#execution.finish({ kind: "threw", error });
    };
    void wait(host.misfitAfterMs, this.#signal).then(check, () => {});
  }
}
