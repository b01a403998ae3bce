import { isIP, isIPv4 } from "node:net";

/** A range of IP addresses: a CIDR block. */
export interface AddressRange {
  readonly network: string;
  readonly prefix: number;
  readonly type: "ipv4" | "ipv6";
}

/**
 * Reads a CIDR block such as `10.0.0.0/8` or `fd00::/8`, or a single address.
 *
 * @throws {Error} that names the entry, if it is neither
 */
export function readAddressRange(entry: string): AddressRange {
  const [network = "", prefix, ...rest] = entry.split("/");
  const bits = isIPv4(network) ? 32 : 128;
  const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (isIP(network) === 0 || network.includes("%") || rest.length > 0 || !(length <= bits)) {
    throw new Error(`must be IP addresses or CIDR blocks, separated by commas; "${entry}" is neither`);
  }
  return { network, prefix: length, type: bits === 32 ? "ipv4" : "ipv6" };
}
