import {
  ATTEMPT_ERRORS,
  AUDIT_EVENT_TYPES,
  AUDIT_RESOURCE_TYPES,
  DELIVERY_STATES,
  hasTemplate,
  JOB_STATES,
  RUN_STATUSES,
  SCHEDULE_STATES,
  TEST_EVENT,
  WEBHOOK_EVENTS,
  WEBHOOK_HEADERS,
} from "@tidemill/contract";
import { parseMoment } from "#kernel";
import { readHost } from "./host.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether a header may have this value: Latin-1 without control characters, tabs allowed. */
export const isHeaderValue = (value: string): boolean => HEADER_VALUE.test(value);

/** Headers that belong to the connection. */
const OF_CONNECTION = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Headers that belong to the connection, or that every callback sets itself. */
const RESERVED = new Set<string>([
  ...OF_CONNECTION,
  "content-type",
  "traceparent",
  "tracestate",
  "user-agent",
  ...Object.values(WEBHOOK_HEADERS),
]);

/** Whether callbacks set this header themselves. A queue cannot set it. */
export const isReservedHeader = (name: string): boolean => RESERVED.has(name.toLowerCase()) || /^(x-service-|proxy-)/i.test(name);

const ACTOR = /^((key|usr)_[0-7][0-9a-hjkmnp-tv-z]{25}|operator|system)$/;

/** Only a mail that arrives proves that the address exists. No spaces, quotes, angle brackets, commas: they would be more than an address in a header. */
const MAIL_ADDRESS = /^[^\s@<>()[\]\\,;:"]{1,64}@[^\s@<>()[\]\\,;:"]{1,189}$/;

/**
 * Control characters, line separators, and marks that change the direction of the text around them: with these, a name could break a line of
 * a log, or look like another one.
 */
export const NOT_IN_NAMES = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

/** A comma-separated list of the given words. */
const listOf = (words: readonly string[]) => (text: string) => text.split(",").every((word) => words.includes(word));

/** The string formats that schemas use. Each returns whether a text has the format. */
export const FORMATS: Record<string, (text: string) => boolean> = {
  /** PostgreSQL accepts no offset of 16 hours or more. No time zone has one. */
  "date-time": (text) => parseMoment(text) !== null && !/[+-](1[6-9]|2\d):\d\d$/.test(text),
  /** A URL with templates is checked further by the module `queues`. */
  "callback-url": (text) => (hasTemplate(text) ? isStorable(text) : isCallbackUrl(text)),
  /** Templates are not replaced in it. */
  "endpoint-url": (text) => !hasTemplate(text) && isCallbackUrl(text),
  "callback-header-name": (name) => TOKEN.test(name) && !isReservedHeader(name),
  "http-header-name": (name) => TOKEN.test(name) && !OF_CONNECTION.has(name.toLowerCase()) && !/^proxy-/i.test(name),
  "header-value": isHeaderValue,
  "mail-address": (text) => MAIL_ADDRESS.test(text) && isStorable(text),
  host: (text) => readHost(text) !== null,
  /** PostgreSQL's `text` cannot store NUL, and UTF-8 cannot encode a lone surrogate. */
  storable: isStorable,
  "shown-name": (text) => isStorable(text) && !NOT_IN_NAMES.test(text),
  "job-states": listOf(JOB_STATES),
  "schedule-states": listOf(SCHEDULE_STATES),
  "run-statuses": listOf(RUN_STATUSES),
  "delivery-states": listOf(DELIVERY_STATES),
  "webhook-events": listOf([...WEBHOOK_EVENTS, TEST_EVENT]),
  "attempt-errors": listOf(ATTEMPT_ERRORS),
  "audit-event-types": listOf(AUDIT_EVENT_TYPES),
  "audit-resource-types": listOf(AUDIT_RESOURCE_TYPES),
  actors: (text) => text.split(",").every((actor) => ACTOR.test(actor)),
};

/** Messages for texts that do not have the format. */
export const FORMAT_MESSAGES: Record<string, string> = {
  "date-time": "must be an RFC 3339 date and time, like 2026-11-21T09:30:00Z",
  "callback-url": "must be an http or https URL without user, password or fragment",
  "endpoint-url": "must be an http or https URL without user, password, fragment or templates",
  "callback-header-name": "must be a header name that callbacks do not set themselves",
  "http-header-name": "must be a header name that does not belong to the connection",
  "header-value": "must contain only characters that a header value may have",
  "mail-address": "must be a mail address",
  host: "must be a host name or an IP address, without scheme, port or wildcard",
  storable: "must not contain NUL characters or lone surrogates",
  "shown-name": "must not contain control characters or marks of text direction",
  "delivery-states": `must be one or more of ${DELIVERY_STATES.join(", ")}`,
  "webhook-events": `must be one or more of ${[...WEBHOOK_EVENTS, TEST_EVENT].join(", ")}`,
  "run-statuses": `must be one or more of ${RUN_STATUSES.join(", ")}`,
  "schedule-states": `must be one or more of ${SCHEDULE_STATES.join(", ")}`,
  "attempt-errors": `must be one or more of ${ATTEMPT_ERRORS.join(", ")}`,
  "audit-event-types": `must be one or more of ${AUDIT_EVENT_TYPES.join(", ")}`,
  "audit-resource-types": `must be one or more of ${AUDIT_RESOURCE_TYPES.join(", ")}`,
  actors: 'must be one or more actors: ids of keys or people, "operator" or "system"',
  "job-states": `must be one or more of ${JOB_STATES.join(", ")}`,
};

function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

function isCallbackUrl(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !isStorable(text) || /\s/.test(text)) return false;
  const url = URL.parse(text);
  return url !== null && url.hostname !== "" && url.username === "" && url.password === "" && url.hash === "";
}
