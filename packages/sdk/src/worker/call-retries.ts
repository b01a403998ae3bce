import type { TidemillError } from "../error.ts";
import { chance } from "../random.ts";
import { waitBeforeNext } from "../retry.ts";
import type { KeyState } from "./key-state.ts";
import type { WorkerSettings } from "./options.ts";

/** Why a try of a call failed. */
export type CallFailure =
  /** There was no response, or the service is not available: 429 and 5xx. */
  | "unavailable"
  | "keyRefused"
  /** Something other than the service has responded. */
  | "foreign"
  /** The service refuses the call. */
  | "refused";

function callFailureOf({ code, status }: TidemillError): CallFailure {
  if (status === null || status >= 500 || status === 429) return "unavailable";
  if (code === "UNAUTHORIZED") return "keyRefused";
  // A call that is too large for a proxy stays too large.
  return code === "UNEXPECTED_RESPONSE" && status !== 413 ? "foreign" : "refused";
}

/** The pause after a refusal that does not end the call. Milliseconds. */
const REFUSED_PAUSE_MS = 5_000;
/**
 * How long something other than the service may respond to a call before it ends the call: a proxy while the service starts, or another
 * program at a wrong address. Milliseconds.
 */
const FOREIGN_MS = 60_000;

export interface RetryOptions {
  /** Whether a failure other than `unavailable` ends the call. If it is `foreign`, the call ends when it has lasted for a minute. */
  readonly isFinal: (error: TidemillError, failure: CallFailure) => boolean;
  /** The longest pause after a failure other than `refused`. Milliseconds. */
  readonly maxPauseMs: number;
}

/** Decides what follows the failed tries of one call of a worker, and logs them. */
export class CallRetries {
  readonly #settings: WorkerSettings;
  readonly #key: KeyState;
  readonly #options: RetryOptions;
  #foreignSinceMs: number | null = null;

  constructor(settings: WorkerSettings, key: KeyState, options: RetryOptions) {
    this.#settings = settings;
    this.#key = key;
    this.#options = options;
  }

  /**
   * How long to wait before the next try.
   *
   * @param tries number of tries so far, from 1
   * @returns milliseconds
   * @throws the error, if it ends the call
   */
  pauseAfter(error: TidemillError, tries: number): number {
    const { isFinal, maxPauseMs } = this.#options;
    const failure = callFailureOf(error);
    if (failure !== "keyRefused") this.#key.notRefused();
    if (failure !== "unavailable" && isFinal(error, failure)) {
      if (failure !== "foreign") throw error;
      this.#foreignResponded(error);
    } else {
      this.#foreignSinceMs = null;
      if (failure === "keyRefused") this.#keyRefused(error);
      else if (tries === 1) this.#warn(error);
    }
    return failure === "refused" ? REFUSED_PAUSE_MS : atMost(maxPauseMs, waitBeforeNext(error, tries, chance()), chance());
  }

  #foreignResponded(error: TidemillError): void {
    const { logger, name, url, elapsedMs } = this.#settings;
    const nowMs = elapsedMs();
    const isFirst = this.#foreignSinceMs === null;
    this.#foreignSinceMs ??= nowMs;
    if (nowMs - this.#foreignSinceMs >= FOREIGN_MS) throw error;
    if (!isFirst) return;
    const { code, message } = error;
    logger.error(`Something other than Tidemill responds at ${url}. Check the address. The worker ends if this lasts for a minute.`, {
      worker: name,
      code,
      error: message,
    });
  }

  #keyRefused({ code, message }: TidemillError): void {
    const { logger, name, elapsedMs } = this.#settings;
    if (!this.#key.refused(elapsedMs())) return;
    logger.error(`The service refuses the key. ${this.#key.whileRefused}`, { worker: name, code, error: message });
  }

  #warn({ code, message }: TidemillError): void {
    const { logger, name } = this.#settings;
    logger.warn("A call of the worker failed. It is tried again.", { worker: name, code, error: message });
  }
}

/** A pause that was shortened to its limit gets a random length. Otherwise all workers would come back at the same time. */
const atMost = (maxMs: number, pauseMs: number, chance: number): number => (pauseMs > maxMs ? maxMs * (1 - chance / 4) : pauseMs);
