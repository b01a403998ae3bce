import type { LookupAddress, LookupAllOptions } from "node:dns";

type OnResolved = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** Resolves a name to all of its addresses, as `dns.lookup` does. */
export type Resolve = (hostname: string, options: LookupAllOptions, callback: OnResolved) => void;

/**
 * Shares one lookup among callers that resolve the same name at the same time. A lookup occupies one of libuv's few threads until
 * the name server answers, so without sharing one slow name could occupy all of them. Results are not cached.
 */
export function shareLookups(resolve: Resolve): Resolve {
  const inFlight = new Map<string, OnResolved[]>();
  return (hostname, options, callback) => {
    const key = JSON.stringify([hostname, options.family, options.hints, options.order, options.verbatim]);
    const waiting = inFlight.get(key);
    if (waiting) {
      waiting.push(callback);
      return;
    }
    const callbacks = [callback];
    inFlight.set(key, callbacks);
    resolve(hostname, options, (error, addresses) => {
      inFlight.delete(key);
      for (const call of callbacks) call(error, addresses);
    });
  };
}
