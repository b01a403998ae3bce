import type * as contract from "@tidemill/contract";
import type { AbortCause } from "./errors.ts";

export type Lease = contract.ExtendRequest["leases"][number];

/** A job or a run that the worker holds. */
export interface Held {
  readonly lease: Lease;
  /** How many the worker had taken before it. */
  readonly number: number;
  /** Until then the lease certainly holds, by `elapsedMs`. */
  endsMs: number;
  readonly controller: AbortController;
  /** Aborted when the worker no longer holds it before it has ended. */
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

  /** If the worker held it under an earlier lease, that one is lost. */
  add(lease: Lease, endsMs: number, reason: Held["reason"]): Held {
    this.lose(lease.id, "lease_lost");
    const controllers = { controller: new AbortController(), lost: new AbortController() };
    const held: Held = { lease, number: this.#taken++, endsMs, ...controllers, stores: new Set(), reason };
    this.#held.set(lease.id, held);
    return held;
  }

  /** The lease lasts longer, unless it is no longer this one. */
  extend({ id, lease_token }: Lease, endsMs: number): void {
    const held = this.#held.get(id);
    if (held?.lease.lease_token === lease_token) held.endsMs = endsMs;
  }

  /** Returns false if it was lost meanwhile: then its outcome no longer counts. */
  remove({ lease }: Held): boolean {
    return this.#held.get(lease.id)?.lease.lease_token === lease.lease_token && this.#held.delete(lease.id);
  }

  /** The worker no longer holds this; with a token, only if it is the present one. */
  lose(id: string, why: AbortCause, token?: string): void {
    const held = this.#held.get(id);
    if (!held || (token !== undefined && held.lease.lease_token !== token)) return;
    this.#held.delete(id);
    held.lost.abort(held.reason(why));
    held.controller.abort(held.reason(why));
  }

  /**
   * The service has cancelled these. What the worker has taken since it asked may have been cancelled before that, and go on: a run whose
   * steps are undone, or that was retried.
   *
   * @param taken how many it had taken when it asked
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

  /** Gives up what has not ended. Returns false if it has, or was lost. */
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
