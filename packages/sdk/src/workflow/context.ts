import type { Moment } from "../clock.ts";
import type { Duration } from "./duration.ts";
import type { HttpRequest, HttpResponse } from "./http-request.ts";
import type { InvocableWorkflow, InvokedRun, ResultOf, WorkflowToInvoke } from "./invoke.ts";
import type { Remembered } from "./remembered.ts";
import type { NoSignals, PayloadOf, SignalDefinition } from "./signal.ts";
import type { EventDefinition } from "./start.ts";

/** What the function of a step gets. */
export interface StepContext {
  /**
   * Aborted when the run is cancelled, its lease is lost, the worker stops, or the attempt times out. Also when the result is no longer
   * needed, or the run's attempt has failed because of another step.
   */
  readonly signal: AbortSignal;
  /** Which attempt of the step this is, from 1. */
  readonly attempt: number;
  /** The same in each attempt of this step, and in no other step: for services that accept an idempotency key. */
  readonly idempotencyKey: string;
}

export interface StepKey {
  /** Distinguishes uses of one name at the same time, for example the id of the item in a loop. */
  readonly key?: string | number;
}

export interface RunStepOptions<Output = unknown> extends StepKey {
  /**
   * How often the step is tried within one execution, the first time included. If the last try fails, the failure is remembered. Without
   * this option, the step is tried once per attempt of the run, and a failure that the workflow does not catch is tried again in the run's
   * next attempt.
   */
  readonly attempts?: number;
  /** How long to wait before the second attempt; twice as long before each further one. 1 s by default. */
  readonly backoff?: { readonly delay: Duration };
  /** How long an attempt may take. */
  readonly timeout?: Duration;
  /**
   * Undoes the step when the run fails for good or is cancelled after the step has completed. The step that completed last is undone first.
   * It has the step's `timeout`, `backoff` and `attempts`; without `attempts`, those of the run. If it still fails, the error is added to
   * the run's `undoErrors`, and the other steps are undone. It may be called again if its outcome could not be stored.
   *
   * @param output what the step returned, as a replay sees it
   */
  readonly undo?: (output: Output, context: StepContext) => unknown;
}

/** An event that a step sends. */
export interface EventToSend<Data = unknown> {
  /** The definition or the name of the event. */
  readonly name: EventDefinition<Data> | string;
  /** The input of the runs that the event starts. */
  readonly data?: NoInfer<Data>;
  /** When the event happened. Milliseconds since 1970; now by default. */
  readonly ts?: number;
}

/** What an event has started. */
export interface EventSent {
  readonly eventId: string;
  readonly runIds: readonly string[];
}

/** A signal that a step registers. */
export interface SignalToRegister {
  /** Unique in the workspace among runs that have not ended, for example `approve.${user.id}`. */
  readonly signal: string;
}

/** A signal that a step waits for. */
export interface SignalToAwait<Payload = unknown> extends SignalToRegister {
  /** How long to wait: "90s", "24h", or milliseconds. */
  readonly timeout: Duration;
  /** Gives the payload its type. */
  readonly of?: SignalDefinition<Payload>;
}

/** The steps of a workflow. Their results are remembered: when the run continues later, they are not executed again. */
export interface Step<Signals = NoSignals> {
  /**
   * Runs a function once, and remembers its result. It runs again only if its outcome could not be stored.
   *
   * @param name what the step does. Steps that are in progress at the same time must have different names, or different keys (`key`)
   * @returns what the function returned, as it comes back from JSON
   * @throws {StepError} with the name and message of what the function threw
   */
  run<T>(
    name: string,
    fn: (context: StepContext) => T,
    options?: RunStepOptions<Remembered<Awaited<NoInfer<T>>>>,
  ): Promise<Remembered<Awaited<T>>>;

  /** Waits. Meanwhile the worker is free, unless another step is in progress. */
  sleep(name: string, duration: Duration, options?: StepKey): Promise<void>;

  /** Waits until a moment: a Date, or RFC 3339 text. */
  sleepUntil(name: string, until: Moment, options?: StepKey): Promise<void>;

  /**
   * Sends an event exactly once per run: the event and the step are stored together. It starts a run of each workflow that listens to it.
   *
   * @returns the event's id, and the runs that it started
   * @throws {StepError} when the service refuses it, for example because the month's executions are used up
   */
  sendEvent<Data>(name: string, event: EventToSend<Data>, options?: StepKey): Promise<EventSent>;

  /**
   * Registers a signal. Do this before you hand out its id: a completion that comes before the workflow waits is then kept.
   *
   * @throws {StepError} SignalTakenError when the signal belongs to another run that has not ended; TooManySignalsError when the run has 100
   * signals whose waits have not ended
   */
  signal(name: string, signal: SignalToRegister, options?: StepKey): Promise<{ readonly signal: string }>;

  /**
   * Waits for a signal that is completed over HTTP (`POST /v1/signals/:id/complete`). The worker is free meanwhile. The step registers the
   * signal, unless `step.signal` has done so. While other steps are in progress, it has no outcome; if the signal is completed before, it
   * ends before steps that are requested with it begin.
   *
   * @param name names the step. If the workflow declares a signal of this name in `signals`, the payload has its type
   * @returns the payload of the completion, as sent
   * @throws {SignalTimeoutError} when `timeout` passes first; {StepError} SignalTakenError and TooManySignalsError, like `signal`
   */
  waitForSignal<Name extends keyof Signals & string>(
    name: Name,
    signal: SignalToAwait<PayloadOf<Signals[Name]>>,
    options?: StepKey,
  ): Promise<PayloadOf<Signals[Name]>>;
  waitForSignal<Payload = unknown>(name: string, signal: SignalToAwait<Payload>, options?: StepKey): Promise<Payload>;

  /**
   * Lets the service make an HTTP call. The worker is free meanwhile, and never sees the secrets that the service fills into the address,
   * the headers and the body. The call is tried again after a response with status 408, 425, 429 or at least 500, and when there is no
   * response. Every attempt has the same `Idempotency-Key` header.
   *
   * @returns the response, with a status from 200 to 299 and at most 1 MiB
   * @throws {HttpError} with the status of the last response, when no attempt succeeded
   */
  http<Body = unknown>(name: string, request: HttpRequest<Body>, options?: StepKey): Promise<HttpResponse<Body>>;

  /**
   * Starts a run of another workflow, and waits for it for at most 24 hours. The worker is free meanwhile.
   *
   * @returns what the run returned, as `result`, and its id
   * @throws {WorkflowFailedError} when the run fails; {WorkflowCancelledError} when it is cancelled; {WorkflowTimeoutError} when `timeout`
   * passes first (the run continues); {StepError} when the service refuses it, for example because the workflow does not exist
   */
  invoke<Of extends InvocableWorkflow | string, Timeout extends Duration>(
    name: string,
    invoked: WorkflowToInvoke<Of, Timeout>,
    options?: StepKey,
  ): Promise<InvokedRun<ResultOf<Of>>>;

  /**
   * Waits for the first of several steps. The others are cancelled: their signals are aborted, and code that awaits them gets a
   * `StepCancelledError`. You may also pass other races, and promises that `then`, `catch` and `finally` derive from a step: the steps
   * behind them are cancelled, too, and their handlers of failures are not called.
   *
   * The promise of an async function or of `Promise.all` is not a step: it can win, but its steps cannot be cancelled, and steps that it
   * begins later are executed. In tests and in development, passing one fails the run with a `RaceError`. Use `Promise.race` for these: it
   * cancels nothing.
   *
   * @throws the error of the first one, if it fails
   */
  race<const Steps extends Readonly<Record<string, PromiseLike<unknown>>>>(steps: Steps): Promise<Winner<Steps>>;
}

/** The step that won a race, by its name in the race. */
export type Winner<Steps> = { [Name in keyof Steps]: { readonly winner: Name; readonly value: Awaited<Steps[Name]> } }[keyof Steps];

/** The run, and values that a workflow must take from here, because elsewhere they would differ in a replay. */
export interface Run {
  readonly id: string;
  readonly workflowId: string;
  /** Which attempt of the run this is, from 1. */
  readonly attempt: number;
  /** The time, remembered. Milliseconds since 1970. */
  now(): number;
  /** A number from 0 to 1, remembered. */
  random(): number;
  /** A random UUID, remembered. */
  uuid(): string;
  /**
   * Whether to take the new branch of changed code: true for runs that had not passed this point before the change. The answer stays the
   * same for a run.
   */
  patched(name: string): boolean;
  /**
   * Reports how far the run is, for people and programs that watch it: the value becomes the run's `progress`. The newest value is kept,
   * and intermediate ones may be left out. Values are sent about once a second at most, are not remembered, and never fail the run.
   *
   * @param value any JSON value of at most 4 KiB. Anything else is ignored, with a warning in the worker's log
   */
  progress(value: unknown): void;
}

/** What the function of a workflow gets. */
export interface WorkflowContext<Input = unknown, Signals = NoSignals> {
  readonly input: Input;
  readonly step: Step<Signals>;
  readonly run: Run;
}
