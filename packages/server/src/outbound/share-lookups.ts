import type { LookupAddress, LookupAllOptions } from "node:dns";

type OnResolved = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** Resolves a name to all of its addresses, as `dns.lookup` does. */
export type Resolve = (hostname: string, options: LookupAllOptions, callback: OnResolved) => void;

/**
 * Has callers who ask for the same name at the same time share one look-up. A look-up holds one of libuv's few threads until
 * the name server answers: without this, one that hangs would hold them all. Nothing is remembered afterwards.
 */
export function shareLookups(resolve: Resolve): Resolve {
  const underWay = new Map<string, OnResolved[]>();
  return (hostname, options, callback) => {
    const key = JSON.stringify([hostname, options.family, options.hints, options.order, options.verbatim]);
    const waiting = underWay.get(key);
    if (waiting) {
      waiting.push(callback);
      return;
    }
    const callbacks = [callback];
    underWay.set(key, callbacks);
    resolve(hostname, options, (error, addresses) => {
      underWay.delete(key);
      for (const call of callbacks) call(error, addresses);
    });
  };
}
