import type * as contract from "@tidemill/contract";
import { WEBHOOK_HEADERS } from "@tidemill/contract/signing";
import { nowSeconds } from "../clock.ts";
import { InvalidSignatureError } from "./invalid-signature.ts";
import { contentOf, type FetchRequest, type RawRequest } from "./request.ts";
import { findFaultOfEvent } from "./signature.ts";

/** An event as a webhook gets it. */
export type WebhookPayload<Data = unknown> = Omit<contract.WebhookBody, "data" | "type"> & {
  /** A type of event, or `webhook.test`. */
  type: contract.WebhookEvent | "webhook.test" | (string & {});
  data: Data;
};

const SECRET = /^whsec_([A-Za-z0-9+/]{43}=)$/;

/**
 * Verifies that a request is an event of Tidemill, and returns it parsed.
 *
 * @param request a request of the Fetch API, or the headers and the body as it arrived
 * @param secrets the webhook's secret, or several while it is rotated: one match is enough
 * @throws {InvalidSignatureError} when the request is not genuine
 * @throws {TypeError} when there is no secret, or when the body was read or parsed before
 */
export async function verifyWebhook<Data = unknown>(
  request: FetchRequest | RawRequest,
  secrets: string | readonly string[],
): Promise<WebhookPayload<Data>> {
  const tried = typeof secrets === "string" ? [secrets] : secrets;
  if (!Array.isArray(tried) || tried.length === 0) throw noSecret();
  const keys = tried.map(keyOf);
  const content = await contentOf(request, WEBHOOK_HEADERS);
  const fault = await findFaultOfEvent(content, keys, nowSeconds());
  if (fault) throw new InvalidSignatureError(fault, WEBHOOK_HEADERS);
  return JSON.parse(new TextDecoder().decode(content.body)) as WebhookPayload<Data>;
}

/** The bytes that the base64 of a secret stands for. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const [, text] = SECRET.exec(String(secret)) ?? [];
  if (text === undefined) throw noSecret();
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

const noSecret = (): TypeError => new TypeError("A webhook secret is required: whsec_ and 44 characters of base64.");
