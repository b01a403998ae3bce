import type { Resolve } from "../address-guard.ts";
import { type Address, failed } from "./resolution.ts";

interface HostInUse {
  addresses: readonly Address[];
  requests: number;
}

/**
 * The addresses of the hosts to which requests are under way. A request's connection is made to what its host was resolved to before, not
 * to what a cache has by then.
 */
export class HostsInUse {
  readonly #hosts = new Map<string, HostInUse>();

  /** A request to the host begins. Its addresses are kept until `end`. */
  begin(hostname: string, addresses: readonly Address[]): void {
    const host = this.#hosts.get(hostname);
    if (!host) this.#hosts.set(hostname, { addresses, requests: 1 });
    else {
      host.addresses = addresses;
      host.requests += 1;
    }
  }

  end(hostname: string): void {
    const host = this.#hosts.get(hostname);
    if (!host) return;
    host.requests -= 1;
    if (host.requests === 0) this.#hosts.delete(hostname);
  }

  /** Resolves a host for connections. */
  readonly lookup: Resolve = (hostname, _options, callback) => {
    const addresses = this.#hosts.get(hostname)?.addresses;
    queueMicrotask(() => {
      if (addresses) callback(null, [...addresses]);
      else callback(failed(hostname, "LOOKUP_NOT_RUN").error, []);
    });
  };
}
