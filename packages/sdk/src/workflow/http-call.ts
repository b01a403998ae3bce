import type { HttpCall, HttpMethod } from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { checkNames } from "../check-names.ts";
import { givenText } from "../given-text.ts";
import { lostKind } from "../lost-in-json.ts";
import { milliseconds } from "../options.ts";
import { checkCallTemplates, OPENING, withoutTemplates } from "./call-templates.ts";
import { type Duration, durationMs } from "./duration.ts";
import { fitInBody } from "./fits-in-body.ts";
import { callHeaders } from "./http-headers.ts";
import type { HttpRequest } from "./http-request.ts";
import { MAX_BODY_VALUES } from "./outbox.ts";
import { remember } from "./remembered.ts";
import { stepSettings } from "./step-settings.ts";
import { isStorable } from "./storable.ts";

/** The fields of a request. */
const FIELDS = {
  url: true,
  method: true,
  headers: true,
  body: true,
  timeout: true,
  attempts: true,
  backoff: true,
  of: true,
} as const satisfies Record<keyof HttpRequest, true>;
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const satisfies readonly HttpMethod[];

/**
 * A call as the service takes it.
 *
 * @throws {TypeError} or {RangeError} naming the field that is wrong
 */
export function httpCall(request: HttpRequest, whose: string): HttpCall {
  if (typeof request !== "object" || request === null) throw new TypeError("step.http takes a name and a request: { url }.");
  checkNames("step.http", request, FIELDS);
  const { url, method, headers, body, timeout, attempts, backoff } = request;
  if (method !== undefined && !METHODS.includes(method))
    throw new TypeError(`method must be one of ${METHODS.join(", ")}, not ${givenText(method)}.`);
  if (body !== undefined && (method === "GET" || method === "HEAD"))
    throw new TypeError(`A request with the method ${method} has no body.`);
  // Checks `attempts` and `backoff` like those of a step that the worker executes.
  const settings = stepSettings({ ...(attempts !== undefined && { attempts }), ...(backoff !== undefined && { backoff }) });
  if (attempts !== undefined && attempts > LIMITS.attempts)
    throw new RangeError(`attempts of a call must be at most ${LIMITS.attempts}, not ${attempts}.`);
  if (settings.firstBackoffMs > LIMITS.backoffMs)
    throw new RangeError(`backoff.delay of a call must be 24 hours or less, not ${givenText(backoff?.delay)}.`);
  const call: HttpCall = {
    url: addressOf(url),
    ...(method !== undefined && { method }),
    ...headersOf(headers, body),
    ...(body !== undefined && { body: bodyOf(body, whose) }),
    ...(timeout !== undefined && { timeout: timeoutOf(timeout) }),
    ...(attempts !== undefined && { attempts }),
    ...(backoff !== undefined && { backoff: { delay: Math.ceil(settings.firstBackoffMs) } }),
  };
  checkCallTemplates(call);
  checkSize(call);
  return call;
}

/** The service keeps the request with its defaults. */
function checkSize({ url, headers = {}, body, method = body === undefined ? "GET" : "POST", timeout = TIMEOUT_MS }: HttpCall): void {
  const text = JSON.stringify({ method, url, headers, body, timeoutMs: timeout });
  const bytes = text.length * 3 > LIMITS.payloadBytes ? new TextEncoder().encode(text).length : 0;
  if (bytes > LIMITS.payloadBytes)
    throw new RangeError(`A call must have at most ${LIMITS.payloadBytes} bytes of JSON (1 MiB), not ${bytes}.`);
}

const FORM = "application/x-www-form-urlencoded";
/** Limits of a body that is not a string. The service takes a little more, together with the other steps of a call. */
const MAX_DEPTH = 48;
/** The service's default. */
const TIMEOUT_MS = 30_000;

function bodyOf(body: unknown, whose: string): unknown {
  if (body instanceof URLSearchParams) return formOf(body);
  // A Buffer, too, which has JSON: `fetch` would send its bytes.
  const lost = typeof body === "object" && body !== null ? lostKind(body) : undefined;
  if (lost) throw new TypeError(`body must be a string, URLSearchParams or a value of JSON, not ${lost.what}.`);
  const json = remember(body, whose, "body");
  if (fitInBody([json], MAX_BODY_VALUES, MAX_DEPTH)) return json;
  const limits = `${MAX_BODY_VALUES} values, ${MAX_DEPTH} levels, and no member of the name __proto__ or constructor`;
  throw new TypeError(`The body of ${whose} has at most ${limits}. Send a larger body as a string.`);
}

/** @throws {TypeError} for a template, which would be sent encoded */
function formOf(form: URLSearchParams): string {
  if ([...form].flat().some((text) => text.includes(OPENING)))
    throw new TypeError(`body has ${OPENING} in URLSearchParams, which encode it. Use a string for a form with templates.`);
  return form.toString();
}

/** The headers of a call. A form has a content type by default. */
function headersOf(headers: HttpRequest["headers"], body: unknown): Pick<HttpCall, "headers"> {
  const given = headers === undefined ? {} : callHeaders(headers);
  const isForm = body instanceof URLSearchParams && !Object.keys(given).some((name) => name.toLowerCase() === "content-type");
  if (headers === undefined && !isForm) return {};
  return { headers: isForm ? callHeaders({ ...given, "content-type": FORM }) : given };
}

function timeoutOf(timeout: Duration): number {
  const ms = Math.ceil(milliseconds("timeout", durationMs("timeout", timeout), 1));
  if (ms > LIMITS.httpTimeoutMs) throw new RangeError(`timeout of a call must be 15 minutes or less, not ${ms} ms.`);
  return ms;
}

function addressOf(given: string | URL): string {
  const url = given instanceof URL ? given.href : given;
  if (typeof url !== "string" || !/^https?:\/\//i.test(url))
    throw new TypeError(`url must be an http or https URL, not ${givenText(url)}.`);
  if (/^https?:\/\/[^/?#]*@/i.test(url))
    throw new TypeError("url must not contain a user or password. Send them in the header authorization.");
  if (url.length > LIMITS.callbackUrlLength)
    throw new RangeError(`url must have at most ${LIMITS.callbackUrlLength} characters, not ${url.length}.`);
  const plain = withoutTemplates(url, "a");
  const parsed = isStorable(plain) && !/\s/.test(plain) && URL.canParse(plain) ? new URL(plain) : null;
  // The value of a template must not change where the call goes.
  const other = withoutTemplates(url, "b");
  const isSafe = parsed && URL.canParse(other) && new URL(other).origin === parsed.origin;
  if (isSafe && parsed.username === "" && parsed.password === "" && parsed.hash === "") return url;
  throw new TypeError(
    `url must be an address without fragment and spaces, with templates in its path and query alone, not ${givenText(url)}.`,
  );
}
