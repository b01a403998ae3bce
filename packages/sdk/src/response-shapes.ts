import { TidemillError } from "./error.ts";

/** Fields that a response has, and what they are. Otherwise something else than the service has responded, and nothing may be stored. */
export type Shape = Readonly<Record<string, (value: unknown) => boolean>>;

const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";
const listOf = (is: (item: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(is);
const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);
const isBoolean = (value: unknown): boolean => typeof value === "boolean";
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
const having = (shape: Shape) => (item: unknown) => faultOf(item, shape) === null;

/** Of a response that has no body, and the status 204. */
export const NOTHING: Shape = {};

/** What the service names by an id. */
export const ENTITY: Shape = { id: isText };
/** Of a response that has this, or no body and the status 204. */
export const ENTITY_OR_NOTHING: Shape = { ...ENTITY };
export const ENQUEUED: Shape = { jobs: listOf(having(ENTITY)) };
export const TRIGGERED: Shape = { runIds: listOf(isText) };
export const TRIGGERED_MANY: Shape = { triggered: listOf(isObject) };

const LEASED: Shape = { id: isText, lease_token: isText };
const STEP: Shape = { key: isText };

export const WORK: Shape = {
  jobs: listOf(having(LEASED)),
  runs: listOf(having({ runId: isText, lease_token: isText, journal: listOf(having(STEP)) })),
  hooks: listOf(having(LEASED)),
  settled: listOf(having(ENTITY)),
  cancelled: listOf(isText),
  // An older service does not say it.
  waited_ms: (value) => value === undefined || value === null || isNumber(value),
};
export const EXTENDED: Shape = { leases: listOf(having(ENTITY)), cancelled: listOf(isText) };
export const STEPS: Shape = { steps: isNumber };
export const REPORTS: Shape = { reports: listOf(having({ id: isText, ok: isBoolean })) };
export const JOURNAL: Shape = { data: listOf(having(STEP)), next_cursor: isTextOrNull };
export const EVENT: Shape = { eventId: isText };
export const SIGNAL: Shape = { signal: isText };
export const RUN: Shape = { runId: isText };

/** The first field that is missing or wrong; null if none is. */
function faultOf(value: unknown, shape: Shape): string | null {
  const fields = value as Readonly<Record<string, unknown>> | null | undefined;
  return Object.entries(shape).find(([field, is]) => !is(fields?.[field]))?.[0] ?? null;
}

/** @throws {TidemillError} UNEXPECTED_RESPONSE, for example of a proxy */
export function checkShape(response: unknown, shape: Shape, status: number): void {
  const isEmpty = response === undefined && status === 204;
  const fault = shape !== NOTHING && isObject(response) ? faultOf(response, shape) : "";
  if (fault === null || (isEmpty && (shape === NOTHING || shape === ENTITY_OR_NOTHING))) return;
  const instead = shape === NOTHING ? "it is not empty, or has another status than 204" : "it is no JSON object";
  const what = fault === "" ? instead : `its field ${fault} is missing or wrong`;
  throw new TidemillError({
    code: "UNEXPECTED_RESPONSE",
    message: `The response is not one of Tidemill: ${what} (status ${status}). Something between may have responded, for example a proxy.`,
    status,
  });
}
