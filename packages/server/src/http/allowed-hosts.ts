import { isIP } from "node:net";
import { invalid } from "#kernel";
import { readHost } from "./host.ts";

/** The names for which a listener serves requests. */
export interface AllowedHosts {
  /** The address that the listener is bound to. */
  readonly bound: string;
  /** Names that are served. `*` serves all. */
  readonly names: readonly string[];
  /** URL of the API, whose name is served too. */
  readonly publicUrl: string | null;
}

/** Throws VALIDATION_ERROR for a `Host` that the listener does not serve. */
export type CheckHost = (host: string | undefined) => void;

/**
 * Refuses requests whose `Host` is a foreign name. A browser sends one when a web page has its own name resolve to this node (DNS
 * rebinding). IP literals and `localhost` are always served, because no foreign page has them as its name.
 *
 * A listener on a loopback address always checks. Any other listener has names that the node cannot know, so it checks only if names are
 * given.
 */
export function checkHostOf({ bound, names, publicUrl }: AllowedHosts): CheckHost {
  const publicName = publicUrl === null ? null : nameOf(URL.parse(publicUrl)?.hostname ?? "");
  const allowed = new Set([...names, ...(publicName === null ? [] : [publicName])]);
  if (allowed.has("*") || (names.length === 0 && !isLoopback(bound))) return () => {};
  let lastServed: string | undefined;
  return (host) => {
    // Only HTTP/1.0 has no Host, and browsers do not speak it. Most requests have the same Host as the one before, which is not parsed
    // again.
    if (host === undefined || host === lastServed) return;
    const name = nameOf(host);
    if (name === null || !(isLiteral(name) || isLocalhost(name) || allowed.has(name))) throw invalid("host", REFUSAL);
    lastServed = host;
  };
}

const REFUSAL = "names a host that this node does not serve; the operator allows names with TIDEMILL_ALLOWED_HOSTS or TIDEMILL_PUBLIC_URL";

/** The name in a `Host` header, as URLs spell it. Null for anything else. */
const nameOf = (host: string): string | null => readHost(host.replace(/:\d{0,5}$/, ""))?.replace(/\.$/, "") ?? null;

const isLiteral = (name: string): boolean => isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
const isLocalhost = (name: string): boolean => name === "localhost" || name.endsWith(".localhost");
const isLoopback = (bound: string): boolean => isLocalhost(bound) || bound === "::1" || (isIP(bound) === 4 && bound.startsWith("127."));
