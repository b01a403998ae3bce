import type * as contract from "@tidemill/contract";
import type { HeldLeases, Lease } from "./held-leases.ts";
import type { WorkerSettings } from "./options.ts";
import type { ServiceCalls } from "./service-calls.ts";

/** Leases in one call. */
const MAX_EXTENDED = 1_000;

/** Extends the leases of a worker as long as it holds any. */
export class LeaseExtender {
  readonly #settings: WorkerSettings;
  readonly #calls: ServiceCalls;
  readonly #held: HeldLeases;
  #extending = false;

  constructor(settings: WorkerSettings, calls: ServiceCalls, held: HeldLeases) {
    this.#settings = settings;
    this.#calls = calls;
    this.#held = held;
  }

  /** Each call waits at the service for something to be cancelled. Does nothing if it is under way. */
  async start(): Promise<void> {
    if (this.#extending) return;
    this.#extending = true;
    const { leaseSeconds, logger, name } = this.#settings;
    try {
      while (this.#held.size > 0) {
        const { leases } = this.#held;
        for (let from = 0; from < leases.length; from += MAX_EXTENDED) {
          const isLast = from + MAX_EXTENDED >= leases.length;
          await this.#extend(leases.slice(from, from + MAX_EXTENDED), isLast ? Math.min(10, Math.floor(leaseSeconds / 3)) : 0);
        }
      }
    } catch (error) {
      logger.error("Leases could not be extended.", { worker: name, error: String(error) });
    } finally {
      this.#extending = false;
    }
  }

  async #extend(leases: Lease[], wait: number): Promise<void> {
    const { name, leaseSeconds } = this.#settings;
    const answer = (await this.#calls.send("/v1/work/extend", {
      worker: name,
      leases,
      lease: leaseSeconds,
      wait,
    })) as contract.ExtendResponse;
    for (const id of answer.cancelled) this.#held.lose(id, "cancelled");
    for (const [index, { id, ok }] of answer.leases.entries()) if (!ok) this.#held.lose(id, "lease_lost", leases[index]?.lease_token);
  }
}
