import { SIGNATURE_TOLERANCE_SECONDS, SIGNATURE_VERSION } from "@tidemill/contract/signing";

/** What a signature is made of. */
export interface SignedContent {
  readonly id: string | null;
  readonly timestamp: string | null;
  readonly signature: string | null;
  readonly body: Uint8Array;
}

/** Why a callback or an event is not genuine. */
export type SignatureFault = "missing_header" | "timestamp_out_of_range" | "wrong_signature";

/** Signatures of one event. The service sends two while a secret is rotated; more would cost the receiver time. */
const MAX_SIGNATURES = 10;

/** 32 bytes as base64, with padding. */
const DIGEST = /^[A-Za-z0-9+/]{43}=$/;

/**
 * Checks the three rules of the specification (Events, Callback delivery): all headers are there, the timestamp is at most 300 seconds
 * away from now, and one of the secrets made the signature. WebCrypto compares in constant time, and every secret is tried.
 *
 * @param now seconds since 1970
 */
export const findFault = (content: SignedContent, secrets: readonly string[], now: number): Promise<SignatureFault | null> => {
  const encoder = new TextEncoder();
  const keys = secrets.map((secret) => encoder.encode(secret));
  return findFaultByKeys(content, content.signature === null ? [] : [content.signature], keys, now);
};

/** The same for an event: it has several signatures while its secret is rotated, with spaces between them. One match is enough. */
export const findFaultOfEvent = (
  content: SignedContent,
  keys: readonly Uint8Array<ArrayBuffer>[],
  now: number,
): Promise<SignatureFault | null> => findFaultByKeys(content, (content.signature ?? "").split(" ").slice(0, MAX_SIGNATURES), keys, now);

async function findFaultByKeys(
  { id, timestamp, signature, body }: SignedContent,
  signatures: readonly string[],
  keys: readonly Uint8Array<ArrayBuffer>[],
  now: number,
): Promise<SignatureFault | null> {
  if (!id || !timestamp || !signature) return "missing_header";
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp)) > SIGNATURE_TOLERANCE_SECONDS) return "timestamp_out_of_range";
  const digests = signatures.flatMap((one) => readDigest(one) ?? []);
  if (digests.length === 0) return "wrong_signature";
  const message = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  const matches = await Promise.all(digests.flatMap((digest) => keys.map((key) => isMadeBy(key, digest, message))));
  return matches.includes(true) ? null : "wrong_signature";
}

/** The bytes of a signature; null if it is not written exactly as the service writes it. */
function readDigest(signature: string): Uint8Array<ArrayBuffer> | null {
  const text = signature.slice(SIGNATURE_VERSION.length);
  if (!signature.startsWith(SIGNATURE_VERSION) || !DIGEST.test(text)) return null;
  const binary = atob(text);
  return btoa(binary) === text ? Uint8Array.from(binary, (character) => character.charCodeAt(0)) : null;
}

async function isMadeBy(
  bytes: Uint8Array<ArrayBuffer>,
  digest: Uint8Array<ArrayBuffer>,
  message: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
  return crypto.subtle.verify("HMAC", key, digest, message);
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
