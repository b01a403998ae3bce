import { BlockList, isIPv4 } from "node:net";
import { readAddressRange } from "#kernel";

const MAPPED = new BlockList();
MAPPED.addSubnet("::ffff:0:0", 96, "ipv6");
const isMapped = (address: string): boolean => MAPPED.check(address, "ipv6");

/**
 * Returns a function that tests whether an IP address, with or without a zone id, is in one of the ranges.
 *
 * IPv4 has a separate list, which also covers mapped addresses. A shared BlockList treats every IPv4 address as a mapped one, so
 * an allowed `::/0` would let all of IPv4 through.
 */
export function addressSet(entries: readonly string[]): (address: string) => boolean {
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
