import type * as contract from "@tidemill/contract";
import { pathOf } from "../api.ts";
import { TidemillError } from "../error.ts";
import { chance, randomName } from "../random.ts";
import { waitBeforeNext } from "../retry.ts";
import { Transport } from "../transport.ts";
import { wait } from "../wait.ts";
import type { WorkerSettings } from "./options.ts";
import type { WorkOutcome } from "./outcomes.ts";

/** What a worker asks for in a call. */
export type Asked = Pick<contract.WorkRequest, "queues" | "workflows" | "limit" | "wait">;

/** How long a call waits for a job or run. Seconds. */
export const WAIT_SECONDS = 20;
const CALL_TIMEOUT_MS = 30_000;
const ERROR_PAUSE_MS = 5_000;

/** Errors of a call that lie with one of its queues or workflows, and with one of its outcomes. The service has stored nothing of such a call. */
const OF_QUEUES: ReadonlySet<string> = new Set(["NOT_FOUND", "INVALID_STATE", "FORBIDDEN"]);
const OF_OUTCOMES: ReadonlySet<string> = new Set(["VALIDATION_ERROR", "PAYLOAD_TOO_LARGE"]);

interface Call {
  readonly method?: "POST" | "PUT";
  readonly path: string;
  /** Makes the body of the first try, or of one that repeats it. */
  readonly encode: (isRepeat: boolean) => string;
  /** Whether a refusal ends the call. */
  readonly isFinal: (error: TidemillError) => boolean;
}

/** The calls of a worker. Each is tried again until the service has answered. */
export class WorkerCalls {
  readonly #settings: WorkerSettings;
  readonly #transport: Transport;
  /** Tells the calls apart from those of an earlier process of the same name. */
  readonly #process = randomName();
  #count = 0;
  #wasAnswered = false;

  constructor(settings: WorkerSettings) {
    this.#settings = settings;
    this.#transport = new Transport({ ...settings, retryForMs: 0, timeoutMs: CALL_TIMEOUT_MS });
  }

  /**
   * Reports outcomes, and takes jobs and runs. A repeated try has the same name as the first one, so that it takes no others.
   *
   * @throws {TidemillError} when the service refuses the worker's first call, or what a call reports (`isRefused`)
   */
  async work(asked: Asked, outcomes: readonly WorkOutcome[], signal?: AbortSignal): Promise<contract.WorkResponse> {
    const { name, version, leaseSeconds } = this.#settings;
    this.#count += 1;
    const request = `${this.#process}-${this.#count}`;
    const body: contract.WorkRequest = { worker: name, ...(version && { version }), lease: leaseSeconds, request, ...asked };
    const settle = outcomes.length > 0 ? `,"settle":[${outcomes.map(({ text }) => text).join(",")}]` : "";
    const encode = (repeat: boolean) => `${JSON.stringify(repeat ? body : { ...body, repeat }).slice(0, -1)}${settle}}`;
    const isFinal = (error: TidemillError) => !this.#wasAnswered || isRefused(error, asked, outcomes);
    const answer = await this.#send({ path: "/v1/work", encode, isFinal }, signal);
    this.#wasAnswered = true;
    return answer as contract.WorkResponse;
  }

  extend(leases: contract.ExtendRequest["leases"], waitSeconds: number, signal: AbortSignal): Promise<contract.ExtendResponse> {
    const { name, leaseSeconds } = this.#settings;
    const body = JSON.stringify({ worker: name, leases, lease: leaseSeconds, wait: waitSeconds });
    const call = { path: "/v1/work/extend", encode: () => body, isFinal: () => false };
    return this.#send(call, signal) as Promise<contract.ExtendResponse>;
  }

  /** @throws {TidemillError} when the service refuses the steps, for example LEASE_LOST */
  async storeSteps(runId: string, reported: contract.ReportedSteps, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify(reported);
    await this.#send({ path: pathOf("runs", runId, "steps"), encode: () => body, isFinal: (error) => !isAboutKey(error) }, signal);
  }

  /** @throws {TidemillError} when the service refuses the event, for example QUOTA_EXCEEDED or LEASE_LOST */
  sendEvent(runId: string, event: contract.SendStepEvent, signal: AbortSignal): Promise<unknown> {
    const body = JSON.stringify(event);
    return this.#send({ path: pathOf("runs", runId, "events"), encode: () => body, isFinal: (error) => !isAboutKey(error) }, signal);
  }

  /** @throws {TidemillError} when the service refuses the signal, for example CONFLICT or LEASE_LOST */
  registerSignal(runId: string, signal: contract.RegisterSignal, abort: AbortSignal): Promise<unknown> {
    const body = JSON.stringify(signal);
    return this.#send({ path: pathOf("runs", runId, "signals"), encode: () => body, isFinal: (error) => !isAboutKey(error) }, abort);
  }

  /** @throws {TidemillError} when the service refuses the settings */
  async putWorkflow(id: string, settings: contract.PutWorkflow, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify(settings);
    await this.#send({ method: "PUT", path: pathOf("workflows", id), encode: () => body, isFinal: () => true }, signal);
  }

  async #send({ method = "POST", path, encode, isFinal }: Call, signal: AbortSignal | undefined): Promise<unknown> {
    for (let tries = 1; ; tries += 1) {
      try {
        const request = { method, path, body: encode(tries > 1), repeatable: true };
        return await this.#transport.request(request, signal ? { signal } : {});
      } catch (error) {
        if (signal?.aborted || !(error instanceof TidemillError)) throw error;
        const isOurs = error.status !== null && error.status < 500 && error.status !== 429;
        if (isOurs && isFinal(error)) throw error;
        if (tries === 1) this.#warn(error);
        await wait(isOurs ? ERROR_PAUSE_MS : waitBeforeNext(error, tries, chance()), signal);
      }
    }
  }

  #warn({ code, message }: TidemillError): void {
    const { logger, name } = this.#settings;
    logger.warn("A call of the worker failed. It is tried again.", { worker: name, code, error: message });
  }
}

/** Whether the service refuses a call for what it reports, or for a queue or workflow while it also reports something. */
export const isRefused = ({ code }: TidemillError, { queues, workflows = [] }: Asked, outcomes: readonly WorkOutcome[]): boolean =>
  outcomes.length > 0 && (OF_OUTCOMES.has(code) || (queues.length + workflows.length > 0 && OF_QUEUES.has(code)));

/** The key may be exchanged: that says nothing of the call. */
const isAboutKey = ({ status }: TidemillError): boolean => status === 401 || status === 403;
