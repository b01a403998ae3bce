/**
 * A database's URL with the mode of TLS as pg should read it. To this version of pg, `prefer`, `require` and `verify-ca` mean the same as
 * `verify-full`, but it writes a warning that they will be weaker in its next one. Here they do not change. With `uselibpqcompat=true` all
 * modes mean what they mean to libpq.
 */
export const withTlsMode = (url: string): string =>
  /[?&]uselibpqcompat=true(&|$)/.test(url) ? url : url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/g, "$1verify-full");

/** Codes of a certificate whose authority is unknown. */
const UNKNOWN_AUTHORITY = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** Why a TLS connection to a database failed, and what to do: the rest of a sentence. Null: it failed for another reason. */
export function explainTlsFailure({ code, message }: NodeJS.ErrnoException): string | null {
  if (UNKNOWN_AUTHORITY.has(code ?? ""))
    return `this machine does not know the authority that signed the server's certificate (${code}). Name the file of the authority's certificate: add sslrootcert=/path/to/ca.pem to the URL, or set NODE_EXTRA_CA_CERTS to it. With sslmode=no-verify the connection is encrypted, but the server is not verified`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `the server's certificate is for another name: ${message}. Use a host name that the certificate has`;
  // pg gives this error no code.
  if (message === "The server does not support SSL connections")
    return "the server does not offer TLS, and the URL asks for it. Remove sslmode, or set up TLS on the server";
  return null;
}
