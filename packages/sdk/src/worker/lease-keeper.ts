import { LIMITS } from "@tidemill/contract/limits";
import { wait } from "../wait.ts";
import type { Extended } from "./calls.ts";
import type { AbortCause } from "./errors.ts";
import type { HeldLeases, Lease } from "./held-leases.ts";

export interface LeaseKeeperOptions {
  readonly held: HeldLeases;
  readonly leaseSeconds: number;
  /** The clock by which leases end. */
  readonly elapsedMs: () => number;
  /** Extends leases. The response may wait this long for something to be cancelled. It is tried again until there is a response. */
  readonly extend: (leases: Lease[], waitSeconds: number, signal: AbortSignal) => Promise<Extended>;
  readonly onError: (error: unknown) => void;
}

/** Leases of jobs and runs that take less time than this are not extended, and rounds begin at least this far apart. Milliseconds. */
const ROUND_MS = 1_000;
const MAX_WAIT_SECONDS = 10;

/** Extends the leases of all jobs and runs that a worker holds, as long as there are any. */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #stopped = new AbortController();
  #isRunning = false;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** How long something is executed before its lease is extended. Milliseconds. */
  get firstMs(): number {
    return Math.min(ROUND_MS, (this.#options.leaseSeconds * 1_000) / 3);
  }

  /** Extends leases from now on, unless it already does. Never rejects. */
  async start(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { signal } = this.#stopped;
    try {
      while (this.#options.held.size > 0 && !signal.aborted) {
        // If a lease has ended meanwhile, the response comes immediately. That is always so while many short jobs run beside a long one.
        const next = wait(this.firstMs, signal);
        next.catch(() => {});
        await this.#extendAll();
        await next;
      }
    } catch (error) {
      if (!signal.aborted) this.#options.onError(error);
    } finally {
      this.#isRunning = false;
    }
  }

  /** Marks what the service has cancelled as lost. Asks the service immediately about leases of which the worker cannot know. */
  cancel(ids: readonly string[], taken: number): void {
    const unsure = this.#options.held.cancel(ids, taken);
    if (unsure.length > 0) void this.#check(unsure);
  }

  /** Ends the calls under way. */
  stop(): void {
    this.#stopped.abort();
  }

  async #extendAll(): Promise<void> {
    const { held, leaseSeconds, elapsedMs } = this.#options;
    // After this process was stalled, the response must not come after a lease has ended.
    const soonMs = elapsedMs() + (leaseSeconds * 1_000) / 2;
    const all = [...held];
    const waitSeconds = all.some(({ endsMs }) => endsMs < soonMs) ? 0 : Math.min(MAX_WAIT_SECONDS, Math.floor(leaseSeconds / 4));
    const leases = all.map(({ lease }) => lease);
    for (let from = 0; from < leases.length; from += LIMITS.extendJobs) {
      const some = leases.slice(from, from + LIMITS.extendJobs);
      const isLast = from + LIMITS.extendJobs >= leases.length;
      await this.#extend(some, isLast ? waitSeconds : 0, "lease_lost");
    }
  }

  /** Never rejects. */
  async #check(leases: readonly Lease[]): Promise<void> {
    try {
      await this.#extend(leases, 0, "cancelled");
    } catch (error) {
      if (!this.#stopped.signal.aborted) this.#options.onError(error);
    }
  }

  /** @param why the reason for the leases that are lost */
  async #extend(leases: readonly Lease[], waitSeconds: number, why: AbortCause): Promise<void> {
    const { held, extend } = this.#options;
    const { taken } = held;
    // A call that gets no response is repeated in time.
    const { response, endsMs } = await extend([...leases], waitSeconds, this.#stopped.signal);
    this.cancel(response.cancelled, taken);
    for (const [index, { id, ok }] of response.leases.entries()) {
      const lease = leases[index];
      if (!ok) held.lose(id, why, lease?.lease_token);
      else if (lease) held.extend(lease, endsMs);
    }
  }
}
