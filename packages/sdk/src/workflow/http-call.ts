import type { HttpCall } from "@tidemill/contract";
import { givenText } from "../given-text.ts";
import { milliseconds } from "../options.ts";
import { type Duration, durationMs } from "./duration.ts";
import { fitInBody } from "./fits-in-body.ts";
import type { HttpRequest } from "./http-request.ts";
import { MAX_BODY_VALUES } from "./outbox.ts";
import { remember } from "./remembered.ts";
import { stepSettings } from "./step-settings.ts";

/**
 * A call as the service takes it.
 *
 * @throws {TypeError} naming the field that is wrong
 */
export function httpCall(request: HttpRequest, whose: string): HttpCall {
  if (typeof request !== "object" || request === null) throw new TypeError("step.http takes a name and a request: { url }.");
  const { url, method, headers, body, timeout, attempts, backoff } = request;
  if (body !== undefined && (method === "GET" || method === "HEAD"))
    throw new TypeError(`A request with the method ${method} has no body.`);
  // Checks attempts and backoff, like those of a step that the worker executes.
  stepSettings({ ...(attempts !== undefined && { attempts }), ...(backoff !== undefined && { backoff }) });
  return {
    url: addressOf(url),
    ...(method !== undefined && { method }),
    ...(headers !== undefined && { headers: { ...headers } }),
    ...(body !== undefined && { body: bodyOf(body, whose) }),
    ...(timeout !== undefined && { timeout: timeoutOf(timeout) }),
    ...(attempts !== undefined && { attempts }),
    ...(backoff !== undefined && { backoff: { delay: Math.ceil(durationMs("backoff.delay", backoff.delay)) } }),
  };
}

/** A body that is not text. The service takes a little more, together with the other steps of a call. */
const MAX_DEPTH = 48;
/** Milliseconds. */
const MAX_TIMEOUT_MS = 900_000;

function bodyOf(body: unknown, whose: string): unknown {
  const json = remember(body, whose, "body");
  if (fitInBody([json], MAX_BODY_VALUES, MAX_DEPTH)) return json;
  const limits = `${MAX_BODY_VALUES} values, ${MAX_DEPTH} levels, and no member of the name __proto__ or constructor`;
  throw new TypeError(`The body of ${whose} has at most ${limits}. Larger ones can be sent as text.`);
}

function timeoutOf(timeout: Duration): number {
  const ms = Math.ceil(milliseconds("timeout", durationMs("timeout", timeout), 1));
  if (ms > MAX_TIMEOUT_MS) throw new RangeError(`timeout of a call must be 15 minutes or less, not ${ms} ms.`);
  return ms;
}

function addressOf(url: string): string {
  if (typeof url === "string" && /^https?:\/\/[^/?#]*@/i.test(url))
    throw new TypeError("url must not contain a user or password. Send them in the header authorization.");
  if (typeof url === "string" && /^https?:\/\//i.test(url)) return url;
  throw new TypeError(`url must be text of an http or https address, not ${givenText(url)}.`);
}
