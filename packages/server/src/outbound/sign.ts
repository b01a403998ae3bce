import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { SIGNATURE_VERSION } from "@tidemill/contract";
import type { Random } from "#kernel";

/** The HMAC key of a signing secret: the UTF-8 bytes of its whole text. */
export const signingKey = (secret: string): KeyObject => createSecretKey(Buffer.from(secret, "utf8"));

/** A new signing secret: `cbs_` and 43 base64url characters. Source: contract §3. */
export const generateSigningSecret = (random: Pick<Random, "bytes">): string => `cbs_${random.bytes(32).toString("base64url")}`;

/** `v1,` and the base64 HMAC-SHA256 over `<id>.<timestamp>.<raw body>`. Source: specification, Events, Callback delivery. */
export const sign = (key: KeyObject, id: string, timestampSeconds: number, body: Buffer): string =>
  SIGNATURE_VERSION + createHmac("sha256", key).update(`${id}.${timestampSeconds}.`).update(body).digest("base64");
