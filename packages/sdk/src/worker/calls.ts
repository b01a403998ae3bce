import type * as contract from "@tidemill/contract";
import { pathOf, withQuery } from "../api.ts";
import { TidemillError } from "../error.ts";
import { randomName } from "../random.ts";
import { ENTITY, EVENT, EXTENDED, JOURNAL, REPORTS, RUN, type Shape, SIGNAL, STEPS, WORK } from "../response-shapes.ts";
import { Transport } from "../transport.ts";
import { wait } from "../wait.ts";
import { type CallFailure, CallRetries, type RetryOptions } from "./call-retries.ts";
import { KeyState } from "./key-state.ts";
import type { WorkerSettings } from "./options.ts";
import type { WorkOutcome } from "./outcomes.ts";
import { refusedSource } from "./sources.ts";
import { StepReports, type StoredReport, type Tries } from "./step-reports.ts";
import { type CallTimes, whenLeasesEnd } from "./when-leases-end.ts";

/** What a worker asks for in a call. */
export type Asked = Pick<contract.WorkRequest, "workflows" | "limit" | "wait"> & { queues: string[] };

const CALL_TIMEOUT_MS = 30_000;
/** The shortest timeout of a call that reports something. Milliseconds. */
const MIN_REPORT_MS = 5_000;
/** How much longer than its `wait` a call may take. Milliseconds. */
const RESPONSE_MS = 15_000;
const MIN_EXTEND_MS = 1_000;
/**
 * The longest pause before a call that waits for jobs is tried again: the longest that the service asks for. A proxy may ask for hours.
 * Milliseconds.
 */
const MAX_PAUSE_MS = 60_000;

/** Errors of a call that are caused by one of its outcomes. The service has stored nothing from such a call. */
const OF_OUTCOMES: ReadonlySet<string> = new Set(["VALIDATION_ERROR", "PAYLOAD_TOO_LARGE"]);

/** Older services do not say how long a call had waited. */
export type WorkResponse = Omit<contract.WorkResponse, "waited_ms"> & Partial<Pick<contract.WorkResponse, "waited_ms">>;

/** The response to a call, and when the leases of what it took end, by `elapsedMs` (`whenLeasesEnd`). */
export interface Worked {
  readonly response: WorkResponse;
  readonly endsMs: number;
}

/** The response to a call that extends leases, and when the extended leases end, by `elapsedMs`. */
export interface Extended {
  readonly response: contract.ExtendResponse;
  readonly endsMs: number;
}

/** A response, with the times of its call. */
interface TimedResponse extends CallTimes {
  readonly response: unknown;
}

interface Call extends Partial<Pick<Tries, "failed" | "beforeNext">> {
  readonly method?: "GET" | "POST" | "PUT";
  readonly path: string;
  /** Makes the body of the first try, or of a repeated one. A GET has none. */
  readonly encode?: (isRepeat: boolean) => string;
  readonly isFinal: RetryOptions["isFinal"];
  readonly shape: Shape;
  /** How long a try may take, by its number. Milliseconds. Default: the timeout of a report. */
  readonly timeoutMs?: (tries: number) => number;
  /** The longest pause before the next try. Milliseconds. Default: the pause of a report, which must arrive while the lease holds. */
  readonly maxPauseMs?: number;
}

/** The calls of a worker. Each is tried again until the service has responded. */
export class WorkerCalls {
  readonly #settings: WorkerSettings;
  readonly #transport: Transport;
  /** Distinguishes the calls from those of an earlier process with the same name. */
  readonly #process = randomName();
  readonly #reports = new StepReports({
    one: (runId, body, tries) => this.#storeStepsOf(runId, body, tries),
    many: (body, tries) => this.#storeReports(body, tries),
  });
  #count = 0;
  #wasAnswered = false;
  #saysWaited = false;
  readonly #key: KeyState;
  /** Why the last try of a call has failed, of those that are tried again; null since one succeeded. */
  failure: TidemillError | null = null;

  /** @param key shared by all calls with the same key */
  constructor(settings: WorkerSettings, key: KeyState = new KeyState("A worker ends if this lasts for a minute.")) {
    this.#settings = settings;
    this.#key = key;
    this.#transport = new Transport({ ...settings, retryForMs: 0, timeoutMs: CALL_TIMEOUT_MS });
  }

  /** Whether the service has accepted a call of this worker. */
  get wasAnswered(): boolean {
    return this.#wasAnswered;
  }

  /** Whether the last response said how long the call had waited, so that a lease need not be counted from when it was sent. */
  get saysWaited(): boolean {
    return this.#saysWaited;
  }

  /**
   * Reports outcomes, and takes jobs and runs. A repeated try has the same name as the first one, so it takes no others.
   *
   * @throws {TidemillError} when the service refuses the worker's first call, or something else responds to it for a minute; when the service
   * refuses the worker's key for a minute, what a call reports (`isRefused`), or one of its queues and workflows (`refusedSource`)
   */
  async work(asked: Asked, outcomes: readonly WorkOutcome[], signal: AbortSignal): Promise<Worked> {
    const { name, version, leaseSeconds } = this.#settings;
    this.#count += 1;
    const request = `${this.#process}-${this.#count}`;
    const body: contract.WorkRequest = { worker: name, ...(version && { version }), lease: leaseSeconds, request, ...asked };
    const settle = outcomes.length > 0 ? `,"settle":[${outcomes.map(({ text }) => text).join(",")}]` : "";
    const encode = (repeat: boolean) => `${JSON.stringify(repeat ? body : { ...body, repeat }).slice(0, -1)}${settle}}`;
    const isFinal = (error: TidemillError) =>
      !this.#wasAnswered || isRefused(error, outcomes) || refusedSource(error, asked) !== null || this.#isKeyRefusedForLong();
    const waitMs = (asked.wait ?? 0) * 1_000;
    const waits = waitMs > 0 && { timeoutMs: () => waitMs + RESPONSE_MS, maxPauseMs: MAX_PAUSE_MS };
    const call = { path: "/v1/work", encode, isFinal, shape: WORK, ...waits };
    const timed = await this.#send(call, signal);
    const response = timed.response as WorkResponse;
    this.#wasAnswered = true;
    this.#saysWaited = response.waited_ms !== undefined;
    return { response, endsMs: whenLeasesEnd(timed, response.waited_ms, leaseSeconds * 1_000) };
  }

  /**
   * Extends leases. A try that gets no response ends early enough for another one.
   *
   * @throws {TidemillError} when the service has refused the worker's key for a minute
   */
  async extend(leases: contract.ExtendRequest["leases"], waitSeconds: number, signal: AbortSignal): Promise<Extended> {
    const { name, leaseSeconds } = this.#settings;
    const encode = (isRepeat: boolean) => JSON.stringify({ worker: name, leases, lease: leaseSeconds, wait: isRepeat ? 0 : waitSeconds });
    const timeoutMs = Math.min(CALL_TIMEOUT_MS, waitSeconds * 1_000 + Math.max(MIN_EXTEND_MS, (leaseSeconds * 1_000) / 3));
    const isFinal = () => this.#isKeyRefusedForLong();
    const call = { path: "/v1/work/extend", encode, isFinal, shape: EXTENDED, timeoutMs: () => timeoutMs };
    const { response, lastSentMs } = await this.#send(call, signal);
    return { response: response as contract.ExtendResponse, endsMs: lastSentMs + leaseSeconds * 1_000 };
  }

  /**
   * Returns the keys of reported steps that wait and have their outcome already.
   *
   * @throws {TidemillError} when the service refuses the steps or the progress, for example LEASE_LOST
   */
  storeSteps(runId: string, reported: contract.ReportedSteps, signal: AbortSignal): Promise<readonly string[]> {
    return this.#reports.add(runId, reported, signal);
  }

  async #storeStepsOf(runId: string, body: string, { signal, ...tries }: Tries): Promise<contract.StepsStored> {
    const call = { path: pathOf("runs", runId, "steps"), encode: () => body, isFinal: isOfRun, shape: STEPS, ...tries };
    return (await this.#send(call, signal)).response as contract.StepsStored;
  }

  async #storeReports(body: string, { signal, ...tries }: Tries): Promise<readonly StoredReport[] | null> {
    const call = { path: "/v1/work/steps", encode: () => body, isFinal: isOfRun, shape: REPORTS, ...tries };
    try {
      return ((await this.#send(call, signal)).response as { reports: StoredReport[] }).reports;
    } catch (error) {
      if (error instanceof TidemillError && error.code === "NOT_FOUND") return null;
      throw error;
    }
  }

  /** @throws {TidemillError} when the service refuses the event, for example QUOTA_EXCEEDED or LEASE_LOST */
  sendEvent(runId: string, event: contract.SendStepEvent, signal: AbortSignal): Promise<unknown> {
    return this.#sendOfRun(pathOf("runs", runId, "events"), event, EVENT, signal);
  }

  /** @throws {TidemillError} when the service refuses the signal, for example CONFLICT or LEASE_LOST */
  registerSignal(runId: string, signal: contract.RegisterSignal, abort: AbortSignal): Promise<unknown> {
    return this.#sendOfRun(pathOf("runs", runId, "signals"), signal, SIGNAL, abort);
  }

  /**
   * A part of the journal of a run.
   *
   * @throws {TidemillError} when the service refuses it, for example LEASE_LOST
   */
  async journal(runId: string, query: contract.ReadJournal, signal: AbortSignal): Promise<contract.JournalPage> {
    const path = withQuery(pathOf("runs", runId, "journal"), query);
    return (await this.#send({ method: "GET", path, isFinal: isOfRun, shape: JOURNAL }, signal)).response as contract.JournalPage;
  }

  /** @throws {TidemillError} when the service refuses the invocation, for example NOT_FOUND, QUOTA_EXCEEDED or LEASE_LOST */
  invoke(runId: string, invocation: contract.InvokeWorkflow, signal: AbortSignal): Promise<unknown> {
    return this.#sendOfRun(pathOf("runs", runId, "invocations"), invocation, RUN, signal);
  }

  /**
   * Returns the names of the settings that this changed. Older services do not say.
   *
   * @throws {TidemillError} when the service refuses the settings, or something else responds for a minute
   */
  async putWorkflow(id: string, settings: contract.PutWorkflow, signal: AbortSignal): Promise<readonly string[]> {
    const body = JSON.stringify(settings);
    const limits = { timeoutMs: () => CALL_TIMEOUT_MS, maxPauseMs: MAX_PAUSE_MS };
    const call = { path: pathOf("workflows", id), encode: () => body, isFinal: () => true, shape: ENTITY, ...limits };
    const { response } = await this.#send({ method: "PUT", ...call }, signal);
    return (response as Partial<contract.WorkflowWithSecret>).changed ?? [];
  }

  /** What the service does for a step of a run. Returns the output of the step. */
  async #sendOfRun(path: string, request: object, shape: Shape, signal: AbortSignal): Promise<unknown> {
    const body = JSON.stringify(request);
    return (await this.#send({ path, encode: () => body, isFinal: isOfRun, shape }, signal)).response;
  }

  async #send(
    {
      method = "POST",
      path,
      encode,
      isFinal,
      shape,
      timeoutMs = (tries) => reportTimeoutMs(this.#settings, tries),
      maxPauseMs = reportTimeoutMs(this.#settings, 1),
      failed = 0,
      beforeNext = (pauseMs) => wait(pauseMs, signal),
    }: Call,
    signal: AbortSignal,
  ): Promise<TimedResponse> {
    const { elapsedMs } = this.#settings;
    const retries = new CallRetries(this.#settings, this.#key, { isFinal, maxPauseMs });
    const firstSentMs = elapsedMs();
    for (let tries = failed + 1; ; tries += 1) {
      const lastSentMs = elapsedMs();
      try {
        const request = { method, path, ...(encode && { body: encode(tries > 1) }), repeatable: true, shape };
        const response = await this.#transport.request(request, { signal, timeoutMs: timeoutMs(tries) });
        this.#key.notRefused();
        this.failure = null;
        return { response, firstSentMs, lastSentMs, respondedMs: elapsedMs() };
      } catch (error) {
        if (signal.aborted || !(error instanceof TidemillError)) throw error;
        const pauseMs = retries.pauseAfter(error, tries);
        this.failure = error;
        await beforeNext(pauseMs);
      }
    }
  }

  #isKeyRefusedForLong(): boolean {
    return this.#key.isRefusedForLong(this.#settings.elapsedMs());
  }
}

/**
 * A third of a lease, so that a report on a dead connection is repeated while the lease holds. Each try may take twice as long as the one
 * before: a large report on a slow connection must get through.
 */
const reportTimeoutMs = ({ leaseSeconds }: WorkerSettings, tries: number): number =>
  Math.min(CALL_TIMEOUT_MS, Math.max(MIN_REPORT_MS, (leaseSeconds * 1_000) / 3) * 2 ** (tries - 1));

/** Whether a call is refused for what it reports: by the service, or by a proxy for which it is too large. */
export const isRefused = ({ code, status }: TidemillError, outcomes: readonly WorkOutcome[]): boolean =>
  outcomes.length > 0 && (OF_OUTCOMES.has(code) || status === 413);

/** Whether the service refuses what a call does for its run. An error about the key says nothing about the run. */
const isOfRun = ({ status }: TidemillError, failure: CallFailure): boolean => failure === "refused" && status !== 401 && status !== 403;
