import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { SIGNATURE_VERSION } from "@tidemill/contract";

/** The HMAC key of a signing secret: the UTF-8 bytes of its whole text. */
export const signingKey = (secret: string): KeyObject => createSecretKey(Buffer.from(secret, "utf8"));

/** `v1,` and the base64 HMAC-SHA256 over `<id>.<timestamp>.<raw body>`. Source: specification, Events, Callback delivery. */
export const sign = (key: KeyObject, id: string, timestampSeconds: number, body: Buffer): string =>
  SIGNATURE_VERSION + createHmac("sha256", key).update(`${id}.${timestampSeconds}.`).update(body).digest("base64");
