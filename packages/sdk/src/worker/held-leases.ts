import type * as contract from "@tidemill/contract";

/** Why a worker ends what it executes. */
export type AbortCause = "cancelled" | "lease_lost" | "shutdown";

export type Lease = contract.ExtendRequest["leases"][number];

/** A job or a run that the worker holds. */
export interface Held {
  readonly lease: Lease;
  readonly controller: AbortController;
  /** The reason of the signal when it is aborted. */
  readonly reason: (why: AbortCause) => Error;
}

/** The jobs and runs that a worker holds, until their outcomes are reported. */
export class HeldLeases {
  readonly #held = new Map<string, Held>();

  get size(): number {
    return this.#held.size;
  }

  add(lease: Lease, reason: Held["reason"]): Held {
    const held = { lease, controller: new AbortController(), reason };
    this.#held.set(lease.id, held);
    return held;
  }

  /** Whether it was not lost meanwhile. */
  has({ lease }: Held): boolean {
    return this.#held.get(lease.id)?.lease.lease_token === lease.lease_token;
  }

  /** Returns false if it was lost meanwhile: then its outcome no longer counts. */
  remove(held: Held): boolean {
    return this.has(held) && this.#held.delete(held.lease.id);
  }

  /** The worker no longer holds this; with a token, only if it is the present one. */
  lose(id: string, why: AbortCause, token?: string): void {
    const held = this.#held.get(id);
    if (!held || (token !== undefined && held.lease.lease_token !== token)) return;
    this.#held.delete(id);
    held.controller.abort(held.reason(why));
  }

  abortAll(why: AbortCause): void {
    for (const { controller, reason } of this.#held.values()) controller.abort(reason(why));
  }

  get leases(): Lease[] {
    return [...this.#held.values()].map(({ lease }) => lease);
  }
}
