import type { KeyObject } from "node:crypto";
import { LRUCache } from "lru-cache";
import { isReservedHeader } from "#http";
import type { Claim } from "#jobs";
import type { Batcher, Db } from "#kernel";
import { type LaneId, type LaneKey, readTogether } from "#lanes";
import { type AddressGuard, signingKey } from "#outbound";
import { findQueuesAcrossWorkspaces, type Queue } from "#queues";
import { type RequestTarget, readTarget } from "./request-target.ts";

/** Where and how a queue's callbacks are sent. */
export interface Endpoint extends RequestTarget {
  readonly revision: number;
  readonly queue: string;
  /** Path and headers as plain text; null when they contain secrets. */
  readonly plain: { readonly path: string; readonly headers: Readonly<Record<string, string>> } | null;
  readonly timeoutMs: number;
  readonly key: KeyObject;
  /** The host when callbacks may not be sent to it; otherwise null. */
  readonly blocked: string | null;
}

const MAX_ENDPOINTS = 10_000;

/**
 * Caches the endpoints of queues. Every claim carries the revision of its queue, so that a claim made after a change of the queue's
 * settings never uses older ones, and a change costs one read.
 */
export class Endpoints {
  readonly #queues: Batcher<LaneKey, Queue | null>;
  readonly #guard: AddressGuard;
  readonly #known = new LRUCache<LaneId, Endpoint>({ max: MAX_ENDPOINTS });
  readonly #loading = new Map<LaneId, Promise<Endpoint | null>>();

  constructor(db: Db, guard: AddressGuard) {
    this.#queues = readTogether((lanes) => findQueuesAcrossWorkspaces(db, lanes));
    this.#guard = guard;
  }

  /**
   * The endpoint if it is cached, otherwise a promise of it; null when the queue no longer has a `callback_url`.
   *
   * @throws {RequestContentError} for an invalid template that was stored before templates were checked
   */
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
    const queue = await this.#queues.add({ workspaceId, laneId });
    this.#known.delete(laneId);
    if (!queue || queue.callback_url === null || queue.callback_secret === null) return null;
    const endpoint = this.#endpointOf(queue, queue.callback_url, queue.callback_secret);
    this.#known.set(laneId, endpoint);
    return endpoint;
  }

  #endpointOf(queue: Queue, callbackUrl: string, secret: string): Endpoint {
    const values = settable(JSON.parse(queue.callback_headers) as Record<string, string>);
    const target = readTarget("callback_url", callbackUrl, values);
    return {
      ...target,
      revision: queue.revision,
      queue: queue.name,
      plain: target.secrets.length === 0 ? { path: target.path.join(""), headers: values } : null,
      timeoutMs: queue.callback_timeout * 1000,
      key: signingKey(secret),
      blocked: this.#guard.refusesHost(target.host) ? target.host : null,
    };
  }
}

/** Leaves out headers that were stored before their names were reserved. */
const settable = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !isReservedHeader(name)));
