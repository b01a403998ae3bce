import { type StallTolerantTimeout, setStallTolerantTimeout } from "../stall-tolerant-timeout.ts";
import type { HeldLeases, Lease } from "./held-leases.ts";

/** Notices by the clock of this process that leases have ended, so that even a worker that cannot reach the service notices. */
export class LeaseWatch {
  readonly #held: HeldLeases;
  readonly #elapsedMs: () => number;
  readonly #onEnd: (lease: Lease, lateMs: number) => void;
  #timer: StallTolerantTimeout | undefined;
  #nextMs = Number.POSITIVE_INFINITY;

  /** @param onEnd called with each lease that has ended, and how late the process notices. Milliseconds */
  constructor(held: HeldLeases, elapsedMs: () => number, onEnd: (lease: Lease, lateMs: number) => void) {
    this.#held = held;
    this.#elapsedMs = elapsedMs;
    this.#onEnd = onEnd;
  }

  /** Checks the leases at this time, unless an earlier check is due. */
  expect(endsMs: number): void {
    if (endsMs >= this.#nextMs) return;
    this.#timer?.clear();
    this.#nextMs = endsMs;
    this.#timer = setStallTolerantTimeout(() => this.#look(), Math.max(1, Math.ceil(endsMs - this.#elapsedMs())));
  }

  stop(): void {
    this.#timer?.clear();
  }

  #look(): void {
    const nowMs = this.#elapsedMs();
    const lateMs = nowMs - this.#nextMs;
    this.#nextMs = Number.POSITIVE_INFINITY;
    for (const { lease, endsMs } of [...this.#held]) {
      if (endsMs > nowMs) this.expect(endsMs);
      else this.#onEnd(lease, lateMs);
    }
  }
}
