import { TidemillError } from "./error.ts";

export type Fields = Readonly<Record<string, (value: unknown) => boolean>>;

/** The shape that a response must have. A response with another shape is not from the service, and perhaps nothing was stored. */
export interface Shape {
  /** Whether the response has a body, which is a JSON object. Without a body, its status is 204. */
  readonly body: "always" | "sometimes" | "never";
  /** Fields that the body must have, with their checks. */
  readonly fields: Fields;
}

export const isText = (value: unknown): boolean => typeof value === "string";
export const isNumber = (value: unknown): boolean => typeof value === "number";
export const listOf = (is: (item: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(is);
export const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);
const isBoolean = (value: unknown): boolean => typeof value === "boolean";
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
export const having = (fields: Fields) => (item: unknown) => faultOf(item, fields) === null;
const objectWith = (fields: Fields): Shape => ({ body: "always", fields });

const ID: Fields = { id: isText };
const LEASED: Fields = { id: isText, lease_token: isText };
const STEP: Fields = { key: isText };

export const NOTHING: Shape = { body: "never", fields: {} };
export const ANY_OBJECT = objectWith({});
/** A resource with an id. */
export const ENTITY = objectWith(ID);
export const ENTITY_OR_NOTHING: Shape = { body: "sometimes", fields: ID };
export const ENQUEUED = objectWith({ jobs: listOf(having(ID)) });
export const TRIGGERED = objectWith({ runIds: listOf(isText) });
export const TRIGGERED_MANY = objectWith({ triggered: listOf(isObject) });
export const WORK = objectWith({
  jobs: listOf(having(LEASED)),
  runs: listOf(having({ runId: isText, lease_token: isText, journal: listOf(having(STEP)) })),
  hooks: listOf(having(LEASED)),
  settled: listOf(having(ID)),
  cancelled: listOf(isText),
  // Older services do not send this field.
  waited_ms: (value) => value === undefined || value === null || isNumber(value),
});
export const EXTENDED = objectWith({ leases: listOf(having(ID)), cancelled: listOf(isText) });
// Only some responses have these keys, and those of older services none.
const isReady = (value: unknown): boolean => value === undefined || listOf(isText)(value);
export const STEPS = objectWith({ steps: isNumber, ready: isReady });
export const REPORTS = objectWith({ reports: listOf(having({ id: isText, ok: isBoolean, ready: isReady })) });
export const JOURNAL = objectWith({ data: listOf(having(STEP)), next_cursor: isTextOrNull });
export const EVENT = objectWith({ eventId: isText });
export const SIGNAL = objectWith({ signal: isText });
export const RUN = objectWith({ runId: isText });

/** The first field that is missing or wrong; null if none is. */
export function faultOf(value: unknown, fields: Fields): string | null {
  const found = value as Readonly<Record<string, unknown>> | null | undefined;
  return Object.entries(fields).find(([field, is]) => !is(found?.[field]))?.[0] ?? null;
}

/** The fault in words; null if the response has the shape. */
function invalidFieldOf(response: unknown, { body, fields }: Shape, status: number): string | null {
  const isEmpty = response === undefined && status === 204;
  if (isEmpty && body !== "always") return null;
  if (body === "never") return "it is not empty, or its status is not 204";
  if (!isObject(response)) return "it is not a JSON object";
  const fault = faultOf(response, fields);
  return fault && `its field ${fault} is missing or wrong`;
}

/** @throws {TidemillError} UNEXPECTED_RESPONSE, for example if a proxy responded */
export function checkShape(response: unknown, shape: Shape, status: number): void {
  const what = invalidFieldOf(response, shape, status);
  if (what === null) return;
  throw new TidemillError({
    code: "UNEXPECTED_RESPONSE",
    message: `The response did not come from Tidemill: ${what} (status ${status}). Something in between, such as a proxy, may have responded.`,
    status,
  });
}
