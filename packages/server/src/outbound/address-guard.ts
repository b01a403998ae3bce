import { lookup as dnsLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { addressSet } from "./address-set.ts";
import { LOCALHOST, LOOPBACK, METADATA_HOST, METADATA_NAMES, REFUSED_V4, REFUSED_V6 } from "./refused.ts";
import { type Resolve, shareLookups } from "./share-lookups.ts";

export interface AddressGuard {
  allows(address: string): boolean;
  /**
   * Whether a URL's hostname is refused as it stands: a literal of an address that may not be reached, or a name that never
   * means anything else, `localhost` say. Other names are known when they are resolved.
   */
  refusesHost(hostname: string): boolean;
  /** For `connect: { lookup }`. Sockets do not ask it for hosts that are IP literals: see {@link AddressGuard.refusesHost}. */
  lookup: LookupFunction;
}

/** The address stays out of the message: what a name of the private network resolves to is not for tenants to know. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
  readonly code = "BLOCKED_ADDRESS";
  readonly address: string | null;
  constructor(hostname: string, address: string | null) {
    super(`The host ${hostname} is at an address that outgoing calls may not reach.`);
    this.address = address;
  }
}

/**
 * Decides which hosts and addresses outgoing calls may reach. What counts is the address that is connected to.
 *
 * @param options.allowed addresses and CIDR ranges that are allowed whatever else holds
 * @param resolve how names are resolved
 */
export function createAddressGuard(
  options: { allowLoopback: boolean; allowed: readonly string[] },
  resolve: Resolve = dnsLookup,
): AddressGuard {
  const refused = addressSet([...REFUSED_V4, ...REFUSED_V6]);
  const allowed = addressSet([...options.allowed, ...(options.allowLoopback ? LOOPBACK : [])]);

  const allows = (address: string): boolean => isIP(address) !== 0 && (allowed(address) || !refused(address));

  const refusesHost = (hostname: string): boolean => {
    const meant = addressesMeantBy(hostname);
    return meant.length > 0 && !meant.some(allows);
  };

  const resolveShared = shareLookups(resolve);
  const lookup: LookupFunction = (hostname, lookupOptions, callback) => {
    resolveShared(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const first = addresses[0]; // there is none for an empty hostname
      const blocked = addresses.find(({ address }) => !allows(address));
      if (!first || blocked) return callback(new BlockedAddressError(hostname, blocked?.address ?? null), []);
      if (lookupOptions.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

  return { allows, refusesHost, lookup };
}

/** The IP address that a URL's hostname spells, or null for a name: sockets connect to it without a look-up. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}

/** The addresses that a URL's hostname cannot but mean: of a literal that one, of most names none. */
function addressesMeantBy(hostname: string): readonly string[] {
  const name = hostname.toLowerCase().replace(/\.+$/, "");
  const literal = literalAddress(name);
  if (literal !== null) return [literal];
  if (name === "localhost" || name.endsWith(".localhost")) return LOCALHOST;
  return METADATA_NAMES.has(name) ? [METADATA_HOST] : [];
}
