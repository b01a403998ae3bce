import type { KeyObject } from "node:crypto";
import type { Claim } from "#dispatch";
import type { Db } from "#kernel";
import { type AddressGuard, literalAddress, signingKey } from "#outbound";
import { findLane, type LaneId, type Queue } from "#queues";

/** Where and how a queue's callbacks are sent. */
export interface Endpoint {
  readonly revision: number;
  readonly queue: string;
  readonly host: string;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly key: KeyObject;
  /** The address's own literal, when it is one that callbacks may not go to. */
  readonly blocked: string | null;
}

const MOST = 10_000;

/**
 * Remembers endpoints by the revision of their queue, which every claim carries: what a claim was made under is what is used,
 * with one read per change.
 */
export class Endpoints {
  readonly #db: Db;
  readonly #guard: AddressGuard;
  readonly #known = new Map<LaneId, Endpoint>();
  readonly #loading = new Map<LaneId, Promise<Endpoint | null>>();

  constructor(db: Db, guard: AddressGuard) {
    this.#db = db;
    this.#guard = guard;
  }

  /** The endpoint if it is at hand, else a promise of it; null when the queue has no callback address any more. */
  of(claim: Claim): Endpoint | Promise<Endpoint | null> {
    const known = this.#known.get(claim.laneId);
    if (known && known.revision >= claim.revision) return known;
    const loading = this.#loading.get(claim.laneId);
    if (loading) return loading.then((endpoint) => (endpoint && endpoint.revision < claim.revision ? this.of(claim) : endpoint));
    const load = this.#load(claim).finally(() => this.#loading.delete(claim.laneId));
    this.#loading.set(claim.laneId, load);
    return load;
  }

  async #load({ workspaceId, laneId }: Claim): Promise<Endpoint | null> {
    const queue = await findLane(this.#db, workspaceId, laneId);
    this.#known.delete(laneId);
    if (!queue || queue.callback_url === null || queue.callback_secret === null) return null;
    const endpoint = this.#endpointOf(queue, queue.callback_url, queue.callback_secret);
    if (this.#known.size >= MOST) this.#known.clear();
    this.#known.set(laneId, endpoint);
    return endpoint;
  }

  #endpointOf(queue: Queue, callbackUrl: string, secret: string): Endpoint {
    const url = new URL(callbackUrl);
    const literal = literalAddress(url.hostname);
    return {
      revision: queue.revision,
      queue: queue.name,
      host: url.hostname,
      origin: url.origin,
      path: url.pathname + url.search,
      headers: JSON.parse(queue.callback_headers) as Record<string, string>,
      timeoutMs: queue.callback_timeout * 1000,
      key: signingKey(secret),
      blocked: literal !== null && !this.#guard.allows(literal) ? literal : null,
    };
  }
}
