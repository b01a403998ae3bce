import { isIP, isIPv4 } from "node:net";

/** A network of addresses. */
export interface AddressRange {
  readonly network: string;
  readonly prefix: number;
  readonly type: "ipv4" | "ipv6";
}

/**
 * Reads `10.0.0.0/8`, `fd00::/8`, or one address.
 *
 * @throws {Error} that names an entry which is neither
 */
export function readAddressRange(entry: string): AddressRange {
  const [network = "", prefix, ...rest] = entry.split("/");
  const bits = isIPv4(network) ? 32 : 128;
  const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (isIP(network) === 0 || network.includes("%") || rest.length > 0 || !(length <= bits)) {
    throw new Error(`must list addresses or CIDR blocks with commas; "${entry}" is neither`);
  }
  return { network, prefix: length, type: bits === 32 ? "ipv4" : "ipv6" };
}
