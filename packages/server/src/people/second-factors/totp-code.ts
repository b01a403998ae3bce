import { createHmac } from "node:crypto";
import type { Random } from "#kernel";

/** RFC 6238 with what all authenticators know: SHA-1, six digits, 30 seconds. */
const STEP_SECONDS = 30;
const DIGITS = 6;
const SECRET_BYTES = 20;
/** How many steps before and after the present one have valid codes, for clocks that differ. */
const DRIFT = 1;

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** A new secret in base32, which people can type if they cannot scan it. */
export function makeTotpSecret(random: Random): string {
  let bits = "";
  for (const byte of random.bytes(SECRET_BYTES)) bits += byte.toString(2).padStart(8, "0");
  return (bits.match(/.{5}/g) ?? []).map((group) => BASE32[Number.parseInt(group, 2)]).join("");
}

/** What an authenticator scans. */
export const totpUri = (secret: string, issuer: string, email: string): string =>
  `otpauth://totp/${encodeURIComponent(issuer)}:${encodeURIComponent(email)}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;

/** The step near this moment for which a code is right. Null: the code is wrong. */
export function stepOfCode(secret: string, code: string, nowMs: number): number | null {
  const present = Math.floor(nowMs / 1000 / STEP_SECONDS);
  let found: number | null = null;
  // All are computed, so that the duration does not depend on which one is right.
  for (let step = present - DRIFT; step <= present + DRIFT; step += 1) if (codeAt(secret, step) === code) found = step;
  return found;
}

/** The code of a step. Source: RFC 4226, 5.3. */
export function codeAt(secret: string, step: number): string {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(step));
  const hash = createHmac("sha1", bytesOf(secret)).update(message).digest();
  const offset = (hash.at(-1) ?? 0) & 0xf;
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS).padStart(DIGITS, "0");
}

function bytesOf(secret: string): Buffer {
  const bits = [...secret].map((char) => BASE32.indexOf(char).toString(2).padStart(5, "0")).join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
