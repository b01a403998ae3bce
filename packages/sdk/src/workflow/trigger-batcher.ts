import type { Triggered, TriggeredMany, TriggerWorkflow } from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { type Batched, Batcher, MAX_CHARACTERS } from "../batcher.ts";
import { encodeJson } from "../encode-json.ts";
import { TidemillError } from "../error.ts";
import { itemError } from "../item-error.ts";

/** How triggers of one workflow reach the service, as JSON. */
export interface TriggerCalls {
  one(body: string): Promise<Triggered>;
  many(body: string): Promise<TriggeredMany>;
}

/** The trigger is JSON: its input may change later. */
type Waiting = Batched<string, Triggered>;

const MAX_CALL = { triggers: LIMITS.triggers, characters: MAX_CHARACTERS };

/** Sends triggers of one workflow together if they come at the same time. */
export class TriggerBatcher {
  readonly #calls: TriggerCalls;
  readonly #batcher: Batcher<string, Triggered, keyof typeof MAX_CALL>;

  /** @param onIdle called when nothing is under way */
  constructor(calls: TriggerCalls, onIdle: () => void) {
    this.#calls = calls;
    this.#batcher = new Batcher({
      limits: () => MAX_CALL,
      sizeOf: ({ length }) => ({ triggers: 1, characters: length }),
      send: (batch) => this.#trigger(batch),
      onIdle,
    });
  }

  add(trigger: TriggerWorkflow): Promise<Triggered> {
    return this.#batcher.add(encodeJson(trigger) ?? "{}");
  }

  /** Never rejects. */
  async #trigger(batch: readonly Waiting[]): Promise<void> {
    try {
      if (batch.length === 1) return await this.#triggerEach(batch);
      const { triggered } = await this.#calls.many(`{"triggers":[${batch.map(({ item }) => item).join(",")}]}`);
      for (const [at, one] of batch.entries()) if (triggered[at]?.code !== "UNAVAILABLE") settle(one, triggered[at]);
      await this.#triggerEach(batch.filter((_, at) => triggered[at]?.code === "UNAVAILABLE"));
    } catch (error) {
      // An older service does not have this call, or the service refuses one of the triggers. All have keys, so none starts two runs.
      if (error instanceof TidemillError && error.status !== null && error.status < 500 && error.status !== 429)
        await this.#triggerEach(batch);
      else for (const { reject } of batch) reject(error);
    }
  }

  async #triggerEach(batch: readonly Waiting[]): Promise<void> {
    await Promise.all(batch.map(({ item, resolve, reject }) => this.#calls.one(item).then(resolve, reject)));
  }
}

function settle({ resolve, reject }: Waiting, outcome: TriggeredMany["triggered"][number] | undefined): void {
  if (outcome?.code === null) resolve({ runIds: outcome.runIds, duplicate: outcome.duplicate });
  else reject(itemError(outcome));
}
