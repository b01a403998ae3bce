import { SIGNATURE_TOLERANCE_SECONDS, SIGNATURE_VERSION } from "@tidemill/contract/signing";

/** What a callback's signature is made of. */
export interface SignedContent {
  readonly id: string | null;
  readonly timestamp: string | null;
  readonly signature: string | null;
  readonly body: Uint8Array;
}

/** Why a callback is not genuine. */
export type SignatureFault = "missing_header" | "timestamp_out_of_range" | "wrong_signature";

/** 32 bytes as base64, with padding. */
const DIGEST = /^[A-Za-z0-9+/]{43}=$/;

/**
 * Checks the three rules of the specification (Events, Callback delivery): all headers are there, the timestamp is at most 300 seconds
 * away from now, and one of the secrets made the signature. WebCrypto compares in constant time, and every secret is tried.
 *
 * @param now seconds since 1970
 */
export async function findFault(content: SignedContent, secrets: readonly string[], now: number): Promise<SignatureFault | null> {
  const { id, timestamp, signature, body } = content;
  if (!id || !timestamp || !signature) return "missing_header";
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp)) > SIGNATURE_TOLERANCE_SECONDS) return "timestamp_out_of_range";
  const digest = readDigest(signature);
  if (!digest) return "wrong_signature";
  const message = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  const matches = await Promise.all(secrets.map((secret) => isMadeBy(secret, digest, message)));
  return matches.includes(true) ? null : "wrong_signature";
}

/** The bytes of a signature; null if it is not written exactly as the service writes it. */
function readDigest(signature: string): Uint8Array<ArrayBuffer> | null {
  const text = signature.slice(SIGNATURE_VERSION.length);
  if (!signature.startsWith(SIGNATURE_VERSION) || !DIGEST.test(text)) return null;
  const binary = atob(text);
  return btoa(binary) === text ? Uint8Array.from(binary, (character) => character.charCodeAt(0)) : null;
}

async function isMadeBy(secret: string, digest: Uint8Array<ArrayBuffer>, message: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, ["verify"]);
  return crypto.subtle.verify("HMAC", key, digest, message);
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
