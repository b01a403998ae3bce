import type { KeyObject } from "node:crypto";
import { isReservedHeader } from "#http";
import type { Db } from "#kernel";
import { createLaneCache, type LaneCache } from "#lanes";
import { type AddressGuard, signingKey } from "#outbound";
import { findQueuesAcrossWorkspaces, type Queue } from "#queues";
import { type RequestTarget, readTarget } from "./request-target.ts";

/** Where and how a queue's callbacks are sent. */
export interface CallbackEndpoint extends RequestTarget {
  readonly revision: number;
  readonly queue: string;
  /** Path and headers as plain text; null when they contain secrets. */
  readonly plain: { readonly path: string; readonly headers: Readonly<Record<string, string>> } | null;
  readonly timeoutMs: number;
  readonly key: KeyObject;
  /** The host when callbacks may not be sent to it; otherwise null. */
  readonly blocked: string | null;
}

/**
 * The endpoints of queues. Null for a queue without a `callback_url`. Reading an endpoint throws a `RequestContentError` if it has an
 * invalid template, which was stored before templates were checked.
 */
export type CallbackEndpoints = LaneCache<CallbackEndpoint>;

export const callbackEndpoints = (db: Db, guard: AddressGuard): CallbackEndpoints =>
  createLaneCache({
    find: (lanes) => findQueuesAcrossWorkspaces(db, lanes),
    make: (queue) => endpointOf(queue, guard),
  });

function endpointOf(queue: Queue, guard: AddressGuard): CallbackEndpoint | null {
  const { callback_url: callbackUrl, callback_secret: secret } = queue;
  if (callbackUrl === null || secret === null) return null;
  const values = settable(JSON.parse(queue.callback_headers) as Record<string, string>);
  const target = readTarget("callback_url", callbackUrl, values);
  return {
    ...target,
    revision: queue.revision,
    queue: queue.name,
    plain: target.secrets.length === 0 ? { path: target.path.join(""), headers: values } : null,
    timeoutMs: queue.callback_timeout * 1000,
    key: signingKey(secret),
    blocked: guard.refusesHost(target.host) ? target.host : null,
  };
}

/** Leaves out headers that were stored before their names were reserved. */
const settable = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !isReservedHeader(name)));
