import type * as contract from "@tidemill/contract";
import { TidemillError } from "../error.ts";
import { chance, randomName } from "../random.ts";
import { waitBeforeNext } from "../retry.ts";
import { Transport } from "../transport.ts";
import { wait } from "../wait.ts";
import type { WorkerSettings } from "./options.ts";
import type { JobOutcome } from "./outcomes.ts";

/** What a worker asks for in a call. */
export type Asked = Pick<contract.WorkRequest, "queues" | "limit" | "wait">;

/** How long a call waits for a job. Seconds. */
export const WAIT_SECONDS = 20;
const CALL_TIMEOUT_MS = 30_000;
const ERROR_PAUSE_MS = 5_000;

/** Errors of a call that lie with one of its queues, and with one of its outcomes. The service has stored nothing of such a call. */
const OF_QUEUES: ReadonlySet<string> = new Set(["NOT_FOUND", "INVALID_STATE", "FORBIDDEN"]);
const OF_OUTCOMES: ReadonlySet<string> = new Set(["VALIDATION_ERROR", "PAYLOAD_TOO_LARGE"]);

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
   * Reports outcomes and takes jobs. A repeated try has the same name as the first one, so that it takes no other jobs.
   *
   * @throws {TidemillError} when the service refuses the worker's first call, or what a call reports (`isRefused`)
   */
  work(asked: Asked, outcomes: readonly JobOutcome[], signal?: AbortSignal): Promise<contract.WorkResponse> {
    const { name, version, leaseSeconds } = this.#settings;
    this.#count += 1;
    const request = `${this.#process}-${this.#count}`;
    const body: contract.WorkRequest = { worker: name, ...(version && { version }), lease: leaseSeconds, request, ...asked };
    const settle = outcomes.length > 0 ? `,"settle":[${outcomes.map(({ text }) => text).join(",")}]` : "";
    const encode = (repeat: boolean) => `${JSON.stringify(repeat ? body : { ...body, repeat }).slice(0, -1)}${settle}}`;
    const isFinal = (error: TidemillError) => isRefused(error, asked, outcomes);
    return this.#send("/v1/work", encode, signal, isFinal) as Promise<contract.WorkResponse>;
  }

  extend(leases: contract.ExtendRequest["leases"], waitSeconds: number, signal: AbortSignal): Promise<contract.ExtendResponse> {
    const { name, leaseSeconds } = this.#settings;
    const body = JSON.stringify({ worker: name, leases, lease: leaseSeconds, wait: waitSeconds });
    return this.#send(
      "/v1/work/extend",
      () => body,
      signal,
      () => false,
    ) as Promise<contract.ExtendResponse>;
  }

  /**
   * @param encode makes the body of the first try, or of one that repeats it
   * @param isFinal whether an error ends the call
   */
  async #send(
    path: string,
    encode: (isRepeat: boolean) => string,
    signal: AbortSignal | undefined,
    isFinal: (error: TidemillError) => boolean,
  ): Promise<unknown> {
    for (let tries = 1; ; tries += 1) {
      try {
        const request = { method: "POST" as const, path, body: encode(tries > 1), repeatable: true };
        const answer = await this.#transport.request(request, signal ? { signal } : {});
        this.#wasAnswered = true;
        return answer;
      } catch (error) {
        if (signal?.aborted || !(error instanceof TidemillError)) throw error;
        const isOurs = error.status !== null && error.status < 500 && error.status !== 429;
        if (isOurs && (!this.#wasAnswered || isFinal(error))) throw error;
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

/** Whether the service refuses a call for what it reports, or for a queue while it also reports something. */
export const isRefused = ({ code }: TidemillError, { queues }: Asked, outcomes: readonly JobOutcome[]): boolean =>
  outcomes.length > 0 && (OF_OUTCOMES.has(code) || (queues.length > 0 && OF_QUEUES.has(code)));
