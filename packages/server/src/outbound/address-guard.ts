import type { LookupAddress, LookupAllOptions } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { addressSet } from "./address-set.ts";
import { LOCALHOST, LOOPBACK, METADATA_HOST, METADATA_NAMES, REFUSED_V4, REFUSED_V6 } from "./refused.ts";

/** Resolves a name to all of its addresses, as `dns.lookup` does. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface AddressGuard {
  allows(address: string): boolean;
  /**
   * Whether a URL's hostname is refused without a look-up: the literal of a refused address, or a name that always stands for one, such as
   * `localhost`. Other names are checked when they are resolved.
   */
  refusesHost(hostname: string): boolean;
  /** The error for a name that resolves to a refused address, or to none; null when all addresses may be reached. */
  check(hostname: string, addresses: readonly LookupAddress[]): PrivateNameError | null;
  /** A function for `connect: { lookup }`. Sockets do not call it for hosts that are IP literals: see {@link AddressGuard.refusesHost}. */
  lookup: LookupFunction;
}

/** The message leaves the address out: tenants must not learn what names of the private network resolve to. */
export class BlockedAddressError extends Error {
  override readonly name: string = "BlockedAddressError";
  readonly code = "BLOCKED_ADDRESS";
  readonly address: string | null;

  constructor(hostname: string, address: string | null) {
    super(`The host ${hostname} is at an address that outgoing calls may not reach.`);
    this.address = address;
  }
}

/** A name resolved to a blocked address. Tenants must not learn this: to them, the name does not exist. */
export class PrivateNameError extends BlockedAddressError {
  override readonly name = "PrivateNameError";
}

/**
 * Decides which hosts and addresses outgoing calls may reach. It checks the address that the socket connects to.
 *
 * @param options.allowed addresses and CIDR ranges that are always allowed
 * @param resolve resolves names; without it, no name has an address
 */
export function createAddressGuard(
  options: { allowLoopback: boolean; allowed: readonly string[] },
  resolve: Resolve = resolveNothing,
): AddressGuard {
  const refused = addressSet([...REFUSED_V4, ...REFUSED_V6]);
  const allowed = addressSet([...options.allowed, ...(options.allowLoopback ? LOOPBACK : [])]);

  const allows = (address: string): boolean => isIP(address) !== 0 && (allowed(address) || !refused(address));

  const refusesHost = (hostname: string): boolean => {
    const implied = impliedAddresses(hostname);
    return implied.length > 0 && !implied.some(allows);
  };

  const check = (hostname: string, addresses: readonly LookupAddress[]): PrivateNameError | null => {
    const blocked = addresses.find(({ address }) => !allows(address));
    return blocked || addresses.length === 0 ? new PrivateNameError(hostname, blocked?.address ?? null) : null;
  };

  const lookup: LookupFunction = (hostname, lookupOptions, callback) => {
    resolve(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const privateName = check(hostname, addresses);
      const first = addresses[0]; // undefined for an empty hostname
      if (!first || privateName) return callback(privateName, []);
      if (lookupOptions.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

  return { allows, refusesHost, check, lookup };
}

const resolveNothing: Resolve = (hostname, _options, callback) =>
  callback(Object.assign(new Error(`The name ${hostname} is not resolved.`), { code: "ENOTFOUND" }), []);

/** The IP address that a URL's hostname spells, or null for a name. Sockets connect to a literal address without a look-up. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}

/** The addresses that a URL's hostname always stands for: one for a literal, none for most names. */
function impliedAddresses(hostname: string): readonly string[] {
  const name = hostname.toLowerCase().replace(/\.+$/, "");
  const literal = literalAddress(name);
  if (literal !== null) return [literal];
  if (name === "localhost" || name.endsWith(".localhost")) return LOCALHOST;
  return METADATA_NAMES.has(name) ? [METADATA_HOST] : [];
}
