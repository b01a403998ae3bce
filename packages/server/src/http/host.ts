/** What no host name or address holds, though a URL may hold it around one, or its parser would pass over it. */
const NOT_OF_A_HOST = /[\s\p{Cc}/?#@\\%*]/u;

/**
 * A host name or IP literal as `URL.hostname` spells it: in lower case, an IDN in its ASCII form, an IPv6 address in brackets.
 * Null for a text that is none, or is more: a scheme, a port, a wildcard.
 */
export function readHost(text: string): string | null {
  if (NOT_OF_A_HOST.test(text) || (text.includes(":") && !/^\[.*\]$/.test(text))) return null;
  return URL.parse(`http://${text}/`)?.hostname || null;
}
