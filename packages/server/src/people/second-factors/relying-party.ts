import { isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import { readHost } from "#http";
import type { PublicUrl } from "../base-url.ts";

/** The name for which passkeys are made, and the pages from which they are used. */
export interface RelyingParty {
  readonly id: string;
  readonly origins: readonly string[];
}

/**
 * The relying party of the public URL, or otherwise of the request's `Host`. Null where browsers have no passkeys: at IP addresses, and
 * without TLS everywhere except at `localhost`.
 */
export function relyingPartyOf({ headers }: FastifyRequest, { origin }: Pick<PublicUrl, "origin">): RelyingParty | null {
  if (origin !== null) {
    const { hostname, protocol } = new URL(origin);
    return isName(hostname) && (protocol === "https:" || isLocalhost(hostname)) ? { id: hostname, origins: [origin] } : null;
  }
  const name = readHost((headers.host ?? "").replace(/:\d{0,5}$/, ""));
  if (name === null || !isName(name)) return null;
  return { id: name, origins: [`https://${headers.host}`, ...(isLocalhost(name) ? [`http://${headers.host}`] : [])] };
}

const isName = (host: string): boolean => !host.startsWith("[") && isIP(host) === 0;
const isLocalhost = (host: string): boolean => host === "localhost" || host.endsWith(".localhost");
