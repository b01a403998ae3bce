import { TidemillError } from "../error.ts";

/** Fields that a response has, and what they are. Otherwise something else than the service has responded, and nothing may be stored. */
export type Shape = Readonly<Record<string, (value: unknown) => boolean>>;

const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number";
const listOf = (is: (item: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(is);
const named = (field: string) => (item: unknown) => isText((item as Readonly<Record<string, unknown>> | null)?.[field]);

export const WORK: Shape = {
  jobs: listOf(named("id")),
  runs: listOf(named("runId")),
  hooks: listOf(named("id")),
  settled: listOf(named("id")),
  cancelled: listOf(isText),
};
export const EXTENDED: Shape = { leases: listOf(named("id")), cancelled: listOf(isText) };
export const STEPS: Shape = { steps: isNumber };
export const REPORTS: Shape = { reports: listOf(named("id")) };
export const JOURNAL: Shape = { data: listOf(named("key")) };
export const EVENT: Shape = { eventId: isText };
export const SIGNAL: Shape = { signal: isText };
export const INVOKED: Shape = { runId: isText };

/** @throws {TidemillError} UNEXPECTED_RESPONSE, for example of a proxy */
export function checkShape(response: unknown, shape: Shape): void {
  const found = response as Readonly<Record<string, unknown>> | null | undefined;
  if (Object.entries(shape).every(([field, is]) => is(found?.[field]))) return;
  throw new TidemillError({
    code: "UNEXPECTED_RESPONSE",
    message: "The response is not one of Tidemill: fields are missing.",
    status: 200,
  });
}
