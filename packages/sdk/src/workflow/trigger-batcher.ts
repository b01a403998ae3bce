import type { Triggered, TriggeredMany, TriggerWorkflow } from "@tidemill/contract";
import { encodeJson } from "../encode-json.ts";
import { TidemillError } from "../error.ts";

/** How triggers of one workflow reach the service, as JSON. */
export interface TriggerCalls {
  one(body: string): Promise<Triggered>;
  many(body: string): Promise<TriggeredMany>;
}

interface Pending {
  /** JSON: the input may change later. */
  readonly text: string;
  resolve(triggered: Triggered): void;
  reject(error: unknown): void;
}

/** The largest number of triggers that the service takes in a call. */
const MAX_TRIGGERS = 1_000;
/** A character takes at most 3 bytes, and a call at most 16 MiB. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const MAX_IN_FLIGHT = 2;

const STATUS: Readonly<Record<string, number>> = { QUOTA_EXCEEDED: 402, PAYLOAD_TOO_LARGE: 413 };

/**
 * Sends triggers of one workflow together if they come at the same time. A trigger that comes alone is sent immediately. While the allowed
 * number of calls is under way, triggers wait for the first of them to end.
 */
export class TriggerBatcher {
  readonly #calls: TriggerCalls;
  readonly #onIdle: () => void;
  #waiting: Pending[] = [];
  #inFlight = 0;
  #flushes = false;

  /** @param onIdle called when nothing is under way */
  constructor(calls: TriggerCalls, onIdle: () => void) {
    this.#calls = calls;
    this.#onIdle = onIdle;
  }

  add(trigger: TriggerWorkflow): Promise<Triggered> {
    const text = encodeJson(trigger) ?? "{}";
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, resolve, reject });
      this.#flushSoon();
    });
  }

  /** Triggers of the same turn of the event loop are sent together. */
  #flushSoon(): void {
    if (this.#flushes || this.#inFlight >= MAX_IN_FLIGHT) return;
    this.#flushes = true;
    queueMicrotask(() => {
      this.#flushes = false;
      while (this.#waiting.length > 0 && this.#inFlight < MAX_IN_FLIGHT) void this.#send(this.#take());
    });
  }

  #take(): readonly Pending[] {
    let characters = 0;
    const end = this.#waiting.findIndex(({ text }, at) => {
      characters += text.length;
      return at > 0 && (at === MAX_TRIGGERS || characters > MAX_CHARACTERS);
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  async #send(batch: readonly Pending[]): Promise<void> {
    this.#inFlight += 1;
    await this.#trigger(batch);
    this.#inFlight -= 1;
    if (this.#waiting.length > 0) this.#flushSoon();
    else if (this.#inFlight === 0) this.#onIdle();
  }

  /** Never rejects. */
  async #trigger(batch: readonly Pending[]): Promise<void> {
    try {
      if (batch.length === 1) return await this.#triggerEach(batch);
      const { triggered } = await this.#calls.many(`{"triggers":[${batch.map(({ text }) => text).join(",")}]}`);
      for (const [at, one] of batch.entries()) if (triggered[at]?.code !== "UNAVAILABLE") settle(one, triggered[at]);
      await this.#triggerEach(batch.filter((_, at) => triggered[at]?.code === "UNAVAILABLE"));
    } catch (error) {
      // An older service does not have this call, or the service refuses one of the triggers. All have keys, so none starts two runs.
      if (error instanceof TidemillError && error.status !== null && error.status < 500 && error.status !== 429)
        await this.#triggerEach(batch);
      else for (const { reject } of batch) reject(error);
    }
  }

  async #triggerEach(batch: readonly Pending[]): Promise<void> {
    await Promise.all(batch.map(({ text, resolve, reject }) => this.#calls.one(text).then(resolve, reject)));
  }
}

function settle({ resolve, reject }: Pending, outcome: TriggeredMany["triggered"][number] | undefined): void {
  const { runIds = [], duplicate = false, code = "UNEXPECTED_RESPONSE", message, details } = outcome ?? {};
  if (code === null) {
    resolve({ runIds, duplicate });
    return;
  }
  reject(
    new TidemillError({
      code: code as ConstructorParameters<typeof TidemillError>[0]["code"],
      message: message ?? "The response did not come from Tidemill: fields are missing.",
      status: STATUS[code] ?? 400,
      details: (details ?? {}) as Record<string, unknown>,
    }),
  );
}
