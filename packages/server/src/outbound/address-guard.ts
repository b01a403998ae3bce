import { lookup as dnsLookup, type LookupAddress, type LookupAllOptions } from "node:dns";
import { BlockList, isIP, isIPv4, type LookupFunction } from "node:net";
import { readAddressRange } from "#kernel";

export interface AddressGuard {
  allows(address: string): boolean;
  /** For `connect: { lookup }`. Sockets do not ask it for hosts that are IP literals: see {@link literalAddress}. */
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

/** Every IPv4 network that is not globally reachable, after IANA's special-purpose registry. */
const REFUSED_V4 = [
  "0.0.0.0/8", // this host
  "10.0.0.0/8", // private
  "100.64.0.0/10", // CGNAT; 100.100.100.200 is Alibaba's metadata host
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // Azure's metadata host, on a public address
  "169.254.0.0/16", // link-local; 169.254.169.254 is everybody's metadata host
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; 192.0.0.192 is Oracle's metadata host
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
];

/** Global unicast is 2000::/3: all else is refused, and of it what is no host or wraps an IPv4 address. */
const REFUSED_V6 = [
  "::/3", // ::, loopback, v4-compatible, v4-translated, NAT64 64:ff9b::/96 and 64:ff9b:1::/48, discard 100::/64
  "4000::/2",
  "8000::/1", // ULA fc00::/7 with fd00:ec2::254, link-local fe80::/10, site-local fec0::/10, multicast ff00::/8
  "2001::/23", // protocol assignments: Teredo 2001::/32, benchmarks 2001:2::/48, ORCHID
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "3fff::/20", // documentation
];

const LOOPBACK = ["127.0.0.0/8", "::1"];

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Decides which addresses outgoing calls may reach, when they connect.
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

  const lookup: LookupFunction = (hostname, lookupOptions, callback) => {
    resolve(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const first = addresses[0]; // there is none for an empty hostname
      const blocked = addresses.find(({ address }) => !allows(address));
      if (!first || blocked) return callback(new BlockedAddressError(hostname, blocked?.address ?? null), []);
      if (lookupOptions.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

  return { allows, lookup };
}

/** The IP address that a URL's hostname spells, or null for a name: sockets connect to it without a look-up. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}

const MAPPED = new BlockList();
MAPPED.addSubnet("::ffff:0:0", 96, "ipv6");
const isMapped = (address: string): boolean => MAPPED.check(address, "ipv6");

/**
 * IPv4 has a list of its own, which judges mapped addresses too. In a shared one a BlockList would take every IPv4
 * address for a mapped one: `::/0` among the allowed would let all of IPv4 through.
 */
function addressSet(entries: readonly string[]): (address: string) => boolean {
  const v4 = new BlockList();
  const v6 = new BlockList();
  for (const { network, prefix, type } of entries.map(readAddressRange)) {
    const embedded = type === "ipv6" && prefix >= 96 && isMapped(network);
    (type === "ipv4" || embedded ? v4 : v6).addSubnet(network, prefix, type);
  }
  return (address) => {
    if (isIPv4(address)) return v4.check(address, "ipv4");
    const [bare = ""] = address.split("%"); // a zone id
    return (isMapped(bare) ? v4 : v6).check(bare, "ipv6");
  };
}
