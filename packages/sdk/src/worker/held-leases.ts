import type * as contract from "@tidemill/contract";
import type { AbortCause } from "./errors.ts";

export type Lease = contract.ExtendRequest["leases"][number];

/** A job or a run that the worker holds. */
export interface Held {
  readonly lease: Lease;
  /** How many jobs and runs the worker had taken before this one. */
  readonly number: number;
  /** Until then the lease certainly holds, by `elapsedMs`. */
  endsMs: number;
  readonly controller: AbortController;
  /** Aborted when the worker loses it before it has ended. */
  readonly lost: AbortController;
  /** The calls under way that store what it has done. */
  readonly stores: Set<Promise<unknown>>;
  /** The reason of the signals when they are aborted. */
  readonly reason: (why: AbortCause) => Error;
}

/** The jobs and runs that a worker holds, until their outcomes are reported. */
export class HeldLeases {
  readonly #held = new Map<string, Held>();
  #taken = 0;

  get size(): number {
    return this.#held.size;
  }

  /** How many it has taken so far. */
  get taken(): number {
    return this.#taken;
  }

  /** If the worker held the same job or run under an earlier lease, that lease is lost. */
  add(lease: Lease, endsMs: number, reason: Held["reason"]): Held {
    this.lose(lease.id, "lease_lost");
    const controllers = { controller: new AbortController(), lost: new AbortController() };
    const held: Held = { lease, number: this.#taken++, endsMs, ...controllers, stores: new Set(), reason };
    this.#held.set(lease.id, held);
    return held;
  }

  /** Extends the lease, unless the worker has another one meanwhile. */
  extend({ id, lease_token }: Lease, endsMs: number): void {
    const held = this.#held.get(id);
    if (held?.lease.lease_token === lease_token) held.endsMs = endsMs;
  }

  /** Ends the lease. Returns false if it was lost meanwhile: then its outcome no longer counts. */
  remove({ lease }: Held): boolean {
    return this.#held.get(lease.id)?.lease.lease_token === lease.lease_token && this.#held.delete(lease.id);
  }

  /** Marks a lease as lost; with a token, only if that is the current one. */
  lose(id: string, why: AbortCause, token?: string): void {
    const held = this.#held.get(id);
    if (!held || (token !== undefined && held.lease.lease_token !== token)) return;
    this.#held.delete(id);
    held.lost.abort(held.reason(why));
    held.controller.abort(held.reason(why));
  }

  /**
   * Marks as lost what the service has cancelled. A run that the worker has taken since it asked may have been cancelled before that, and
   * is still to be executed: its steps are undone, or it was retried.
   *
   * @param taken how many the worker had taken when it asked
   * @returns the leases of which only the service knows whether they still hold
   */
  cancel(ids: readonly string[], taken: number): readonly Lease[] {
    const unsure: Lease[] = [];
    for (const id of ids) {
      const held = this.#held.get(id);
      if (held && held.number >= taken) unsure.push(held.lease);
      else this.lose(id, "cancelled");
    }
    return unsure;
  }

  /** Gives up a lease. Returns false if its work has ended, or if it was lost. */
  giveUp(held: Held): boolean {
    const isHeld = this.remove(held);
    if (isHeld) held.lost.abort(held.reason("shutdown"));
    return isHeld;
  }

  abortAll(why: AbortCause): void {
    for (const { controller, reason } of this.#held.values()) controller.abort(reason(why));
  }

  *[Symbol.iterator](): Iterator<Held> {
    yield* this.#held.values();
  }
}
