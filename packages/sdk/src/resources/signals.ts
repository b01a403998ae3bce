import type { CompletedSignal } from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import { SIGNAL } from "../response-shapes.ts";
import type { SignalDefinition } from "../workflow/signal.ts";

/** Options of a completion, in addition to its payload. */
export interface CompleteOptions<Payload> extends CallOptions {
  /** The kind of signal, which gives the payload its type. */
  readonly of?: SignalDefinition<Payload>;
}

/** Signals that runs of workflows wait for. */
export class Signals {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /**
   * Completes a signal: the run that waits for it continues. A signal can be completed once.
   *
   * @param id as the workflow chose it
   * @param payload what the wait returns. JSON, at most 1 MiB; null by default
   * @throws {TidemillError} NOT_FOUND for a signal that no run has registered, or whose run has ended; INVALID_STATE if it was already
   * completed
   */
  complete<Payload = unknown>(
    id: string,
    payload?: NoInfer<Payload>,
    { of: _, ...call }: CompleteOptions<Payload> = {},
  ): Promise<CompletedSignal> {
    return this.#api.post(pathOf("signals", id, "complete"), payload ?? null, call, SIGNAL);
  }
}
