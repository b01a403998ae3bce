/** Characters that no host contains. In a URL they have another meaning, or the URL parser ignores them. */
const NOT_OF_A_HOST = /[\s\p{Cc}/?#@\\%*]/u;

/**
 * A host name or IP literal as `URL.hostname` spells it: in lower case, an IDN in its ASCII form, an IPv6 address in brackets.
 * Null for a text that is not a host, or that also has a scheme, a port or a wildcard.
 */
export function readHost(text: string): string | null {
  if (NOT_OF_A_HOST.test(text) || (text.includes(":") && !/^\[.*\]$/.test(text))) return null;
  return URL.parse(`http://${text}/`)?.hostname || null;
}
