import {
  ATTEMPT_ERRORS,
  AUDIT_EVENT_TYPES,
  AUDIT_RESOURCE_TYPES,
  hasTemplate,
  JOB_STATES,
  SCHEDULE_STATES,
  WEBHOOK_HEADERS,
} from "@tidemill/contract";
import { parseMoment } from "#kernel";
import { readHost } from "./host.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether a header may have that value: Latin-1 without control characters. */
export const isHeaderValue = (value: string): boolean => HEADER_VALUE.test(value);

/** Headers that are the connection's or that a callback has of its own. */
const RESERVED = new Set<string>([
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  ...Object.values(WEBHOOK_HEADERS),
]);

/** Whether a header is one that a callback has of its own, which its queue cannot set. */
export const isReservedHeader = (name: string): boolean => RESERVED.has(name.toLowerCase()) || /^(x-service-|proxy-)/i.test(name);

const ACTOR = /^(key_[0-7][0-9a-hjkmnp-tv-z]{25}|operator|system)$/;

/** A list with commas of the words given. */
const listOf = (words: readonly string[]) => (text: string) => text.split(",").every((word) => words.includes(word));

/** The string formats that schemas name. Each answers whether the text is of the format. */
export const FORMATS: Record<string, (text: string) => boolean> = {
  /** PostgreSQL takes no offset of 16 hours or more; there is no such place. */
  "date-time": (text) => parseMoment(text) !== null && !/[+-](1[6-9]|2\d):\d\d$/.test(text),
  /** Of one with templates in it, the queues' room knows more. */
  "callback-url": (text) => (hasTemplate(text) ? isStorable(text) : isCallbackUrl(text)),
  "callback-header-name": (name) => TOKEN.test(name) && !isReservedHeader(name),
  "header-value": isHeaderValue,
  host: (text) => readHost(text) !== null,
  /** PostgreSQL's text holds no NUL, and UTF-8 no lone surrogate. */
  storable: isStorable,
  "job-states": listOf(JOB_STATES),
  "schedule-states": listOf(SCHEDULE_STATES),
  "attempt-errors": listOf(ATTEMPT_ERRORS),
  "audit-event-types": listOf(AUDIT_EVENT_TYPES),
  "audit-resource-types": listOf(AUDIT_RESOURCE_TYPES),
  actors: (text) => text.split(",").every((actor) => ACTOR.test(actor)),
};

/** What a text that is not of the format is told. */
export const FORMAT_MESSAGES: Record<string, string> = {
  "date-time": "must be an RFC 3339 date and time, like 2026-11-21T09:30:00Z",
  "callback-url": "must be an http or https address without user, password or fragment",
  "callback-header-name": "must be a header name that callbacks do not use themselves",
  "header-value": "must hold only characters that a header value may have",
  host: "must be a host name or an address, without scheme, port or wildcard",
  storable: "must not hold NUL characters or lone surrogates",
  "schedule-states": `must be one or more of ${SCHEDULE_STATES.join(", ")}`,
  "attempt-errors": `must be one or more of ${ATTEMPT_ERRORS.join(", ")}`,
  "audit-event-types": `must be one or more of ${AUDIT_EVENT_TYPES.join(", ")}`,
  "audit-resource-types": `must be one or more of ${AUDIT_RESOURCE_TYPES.join(", ")}`,
  actors: "must be one or more ids of keys, operator or system",
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
