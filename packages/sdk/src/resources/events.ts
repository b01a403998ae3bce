import type { SendEvent, SentEvent } from "@tidemill/contract";
import type { Api } from "../api.ts";
import { checkNames } from "../check-names.ts";
import type { CallOptions } from "../options.ts";
import { TRIGGERED } from "../response-shapes.ts";
import { type EventDefinition, eventName } from "../workflow/start.ts";

/** Options of an event, in addition to its name and data. */
export type SendOptions = Pick<SendEvent, "ts" | "idempotencyKey">;

const SEND_OPTIONS = { ts: true, idempotencyKey: true } satisfies Record<keyof SendOptions, true>;

/** Events, which start runs of workflows. */
export class Events {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /**
   * Sends an event, which starts a run of each workflow that listens to it: all of them, or none. Without an `idempotencyKey` it gets one for
   * this call, so that a retry starts no second runs.
   *
   * @param event its definition, or its name
   * @param data the input of the runs. JSON, at most 1 MiB
   * @returns the event's id, and the runs that it started
   * @throws {TypeError} for a name that events cannot have, and for an unknown option
   */
  async send<Data>(
    event: EventDefinition<Data> | string,
    data: NoInfer<Data>,
    options: SendOptions = {},
    call?: CallOptions,
  ): Promise<SentEvent> {
    checkNames("events.send", options, SEND_OPTIONS);
    const { ts, idempotencyKey } = options;
    const name = eventName(event);
    const body = { name, data, ...(ts !== undefined && { ts }), idempotencyKey: idempotencyKey ?? crypto.randomUUID() };
    const sent = await this.#api.postRepeatably<SentEvent>("/v1/events", body, call, TRIGGERED);
    // A generated key is known only if an earlier try of this call has sent the event.
    return idempotencyKey === undefined ? { ...sent, duplicate: false } : sent;
  }
}
