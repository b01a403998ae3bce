import { createHash } from "node:crypto";
import type { Random } from "#kernel";

const TOKEN_BYTES = 32;
const FORM = /^[A-Za-z0-9_-]{43}$/;

/** Makes the token of a session or a link: 256 random bits. */
export const makeToken = (random: Random): string => random.bytes(TOKEN_BYTES).toString("base64url");

/** The hash of a token, which is all that is stored of it. Null if the text is not a token. */
export const hashToken = (token: string): Buffer | null => (FORM.test(token) ? createHash("sha256").update(token).digest() : null);

/** The hash of a token that was just made. */
export const hashNewToken = (token: string): Buffer => createHash("sha256").update(token).digest();
