import { isIPv6 } from "node:net";
import type { FastifyRequest } from "fastify";
import { addressSet } from "#outbound";

/** Finds out the address of a client: the address of its connection or, behind trusted proxies, the one that the last of them names. */
export function clientAddressOf(trustedProxies: readonly string[]): (request: FastifyRequest) => string {
  const isTrusted = addressSet(trustedProxies);
  return ({ ip, headers }) => {
    if (!isTrusted(ip)) return ip;
    const named = [headers["x-forwarded-for"] ?? []].flat().flatMap((value) => value.split(","));
    // From the last to the first: the first ones may be made up by the client.
    let client = ip;
    for (const one of named.reverse()) {
      client = one.trim();
      if (!isTrusted(client)) break;
    }
    return client;
  };
}

/** The key by which an address is limited: for IPv6 the network, all of which belongs to one client. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  const [head = "", tail] = address.split("%")[0]?.split("::") ?? [];
  const groups = head.split(":").filter((group) => group !== "");
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(":").filter((group) => group !== "").length;
  return [...groups, ...Array<string>(missing).fill("0")].slice(0, 4).join(":");
}

/** The network that a request came from. */
export const networkOfRequest = (
  { clientAddress }: { readonly clientAddress: (request: FastifyRequest) => string },
  request: FastifyRequest,
): string => networkOf(clientAddress(request));
