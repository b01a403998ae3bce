import type * as contract from "@tidemill/contract";
import { CALLBACK_HEADERS } from "@tidemill/contract/signing";
import { checkNames } from "../check-names.ts";
import { nowSeconds } from "../clock.ts";
import { parsePayload, type StandardSchema } from "../schema.ts";
import { InvalidSignatureError } from "./invalid-signature.ts";
import { contentOf, type FetchRequest, type RawRequest } from "./request.ts";
import { findFault } from "./signature.ts";

/** A job as the handler receives it. */
export type Callback<Payload = unknown> = Omit<contract.Callback, "payload"> & { payload: Payload };

/** How a verified callback is read. */
export interface VerifyOptions<Payload> {
  /** Parses the payload, and gives it its type. */
  readonly schema?: StandardSchema<unknown, Payload> | undefined;
}

const OPTIONS = { schema: true } satisfies Record<keyof VerifyOptions<unknown>, true>;

/**
 * Verifies that a request is a callback of Tidemill, and returns it parsed.
 *
 * @param request a request of the Fetch API, or the headers and the body as it arrived
 * @param secrets the queue's callback secret, or several while it is rotated: one match is enough
 * @throws {InvalidSignatureError} when the request is not genuine
 * @throws {TypeError} when there is no secret, for an unknown option, or when the body was read or parsed before
 * @throws {TidemillError} VALIDATION_ERROR when the payload does not fit the schema
 */
export async function verifyCallback<Payload = unknown>(
  request: FetchRequest | RawRequest,
  secrets: string | readonly string[],
  options: VerifyOptions<Payload> = {},
): Promise<Callback<Payload>> {
  checkNames("verifyCallback", options, OPTIONS);
  const { schema } = options;
  const tried = typeof secrets === "string" ? [secrets] : secrets;
  if (!Array.isArray(tried) || tried.length === 0 || !tried.every((secret) => typeof secret === "string" && secret !== "")) {
    throw new TypeError("A callback secret is required: the queue's callback_secret, cbs_…");
  }
  const content = await contentOf(request, { ...CALLBACK_HEADERS, id: CALLBACK_HEADERS.jobId });
  const fault = await findFault(content, tried, nowSeconds());
  if (fault) throw new InvalidSignatureError(fault);
  const callback = JSON.parse(new TextDecoder().decode(content.body)) as Callback<Payload>;
  return schema ? { ...callback, payload: await parsePayload(schema, callback.payload) } : callback;
}
