import type { ReportedStep, SendStepEvent } from "@tidemill/contract";
import { nowMs } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import { chance } from "../random.ts";
import { wait } from "../wait.ts";
import type { StepContext } from "./context.ts";
import type { UnawaitedStepError } from "./errors.ts";
import type { Invocation } from "./invoke.ts";

/** What an execution needs from its surroundings. */
export interface RunHost {
  /** Stores steps in the journal. Resolves when they are durable. Returns the keys of those that wait and have their outcome already. */
  store(steps: readonly ReportedStep[]): Promise<readonly string[]>;
  /** Sends the event of a step, and stores the step with its output. If the journal already has the step, it returns the stored output. */
  sendEvent(step: { readonly name: string; readonly key: string }, event: StepEvent): Promise<unknown>;
  /** Registers the signal of a step, and stores the step. If the journal already has the step, it returns the stored output. */
  registerSignal(step: { readonly name: string; readonly key: string }, signal: string): Promise<unknown>;
  /** Starts a run for a step, and stores the step, which waits for it. If the journal has the step, nothing is started. */
  invoke(step: { readonly name: string; readonly key: string }, invocation: Invocation): Promise<unknown>;
  /** Takes progress that the program reports. Never throws. */
  readonly progress: (value: unknown) => void;
  /** Ends the execution. */
  readonly signal: AbortSignal;
  /** Whether the execution should end before it begins another step, because its time is limited. The next one continues. */
  readonly shouldYield: () => boolean;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Aborts its signal after a time, or with another signal. */
  readonly deadline: (ms: number, outer: AbortSignal, reason: () => Error) => Pick<Deadline, "signal" | "passed" | "onPass" | "end">;
  /** Waits for the end of a sleep beside steps in progress. */
  readonly timer: (ms: number, signal: AbortSignal) => Promise<void>;
  /** A number from 0 to 1, for a value or the wait of a step. */
  readonly random: (key: string) => number;
  /** A UUID, for the step with this key. */
  readonly uuid: (key: string) => string;
  /** How long a program may take to reach steps of the journal, when it does other things meanwhile. Milliseconds. */
  readonly misfitAfterMs: number;
  /** How long steps in progress may go on when the run's attempt has failed, before their signals are aborted. Milliseconds. */
  readonly graceMs: number;
  /** How long a step may go on when its signal is aborted, before `onUnstopped` gets its key. Milliseconds. */
  readonly stopsWithinMs: number;
  /** Must not throw. */
  readonly onUnstopped: (key: string) => void;
  /** Called with what an attempt that has failed has thrown. Must not throw. */
  readonly onFailed: (thrown: unknown) => void;
  /** Whether the journal is replayed after each step, to check that the program does the same again. */
  readonly replayEachStep?: boolean;
  /** Whether a run fails if its program passes to `step.race` what cannot be cancelled. */
  readonly checksRaces?: boolean;
  /**
   * Called with the error of a program that returns without awaiting its steps. It must not throw. "fail": the run fails with the error.
   */
  readonly onUnawaited: "fail" | ((error: UnawaitedStepError) => void);
  /** Replaces the function of a step. */
  readonly replace?: (step: { readonly name: string; readonly key: string }, fn: StepFunction) => StepFunction;
}

/** An event as the service takes it. */
export type StepEvent = Omit<SendStepEvent, "lease_token" | "key">;

export type StepFunction = (context: StepContext) => unknown;

export type NeededHost = Pick<RunHost, "store" | "sendEvent" | "registerSignal" | "invoke" | "signal"> & Partial<RunHost>;

export const MISFIT_AFTER_MS = 5_000;
/** Most requests end within it. */
export const GRACE_MS = 10_000;

/** Parts that are left out come from the runtime. */
export const liveHost = (needed: NeededHost): RunHost => ({
  nowMs,
  wait,
  deadline: (ms, outer, reason) => new Deadline(ms, outer, reason),
  timer: wait,
  random: chance,
  uuid: () => crypto.randomUUID(),
  misfitAfterMs: MISFIT_AFTER_MS,
  graceMs: GRACE_MS,
  shouldYield: () => false,
  stopsWithinMs: 10_000,
  onUnstopped: () => {},
  onFailed: () => {},
  progress: () => {},
  onUnawaited: () => {},
  ...needed,
});
