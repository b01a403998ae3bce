import { TidemillError } from "../error.ts";
import { chance } from "../random.ts";
import { waitBeforeNext } from "../retry.ts";
import { Transport } from "../transport.ts";
import { wait } from "../wait.ts";
import type { WorkerSettings } from "./options.ts";

const CALL_TIMEOUT_MS = 30_000;
const ERROR_PAUSE_MS = 5_000;

interface Call {
  readonly method?: "POST" | "PUT";
  readonly signal?: AbortSignal | undefined;
  /** What is sent after the first try, if that is something else. */
  readonly repeat?: object;
  /** Whether the caller deals with a refusal. Else the call is tried again, once the service has accepted one. */
  readonly mayBeRefused?: boolean;
}

/** The calls of a worker, each of which is sent until the service has answered it. */
export class ServiceCalls {
  readonly #settings: WorkerSettings;
  readonly #transport: Transport;
  #wasAnswered = false;

  constructor(settings: WorkerSettings) {
    this.#settings = settings;
    this.#transport = new Transport({ ...settings, retryForMs: 0, timeoutMs: CALL_TIMEOUT_MS });
  }

  async send(path: string, body: object, { method = "POST", signal, repeat = body, mayBeRefused = false }: Call = {}): Promise<unknown> {
    const bodyOfRepeat = () => JSON.stringify(repeat);
    for (let tries = 1; ; tries += 1) {
      try {
        const sent = tries === 1 ? JSON.stringify(body) : bodyOfRepeat();
        const answer = await this.#transport.request(
          { method, path, body: sent, bodyOfRepeat, repeatable: true },
          signal ? { signal } : {},
        );
        this.#wasAnswered = true;
        return answer;
      } catch (error) {
        if (signal?.aborted || !(error instanceof TidemillError)) throw error;
        const isOurs = error.status !== null && error.status < 500 && error.status !== 429;
        if (isOurs && (!this.#wasAnswered || (mayBeRefused && !isAboutKey(error)))) throw error;
        if (tries === 1) this.#warn(error);
        await wait(isOurs ? ERROR_PAUSE_MS : waitBeforeNext(error, tries, chance()), signal);
      }
    }
  }

  #warn({ code, message }: TidemillError): void {
    this.#settings.logger.warn("A call of the worker failed. It is tried again.", { worker: this.#settings.name, code, error: message });
  }
}

/** The key may be exchanged: that says nothing of the call. */
const isAboutKey = ({ status }: TidemillError): boolean => status === 401 || status === 403;
