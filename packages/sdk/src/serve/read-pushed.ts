import { momentMs } from "../clock.ts";
import { type Fields, faultOf, having, isNumber, isObject, isText, listOf } from "../response-shapes.ts";
import type { Pushed } from "./execute.ts";

const isMoment = (value: unknown): boolean => isText(value) && !Number.isNaN(momentMs(value as string));
const isStepList = listOf(having({ key: isText, type: isText, status: isText }));

const COMMON: Fields = { runId: isText, workflowId: isText, lease_token: isText, lease_expires_at: isMoment };

const isOptionalNumber = (value: unknown): boolean => value === undefined || isNumber(value);

/** What an execution must have, by its `kind` (docs/run-protocol.md). */
const FIELDS: Readonly<Record<string, Fields>> = {
  run: {
    ...COMMON,
    attempt: isNumber,
    attempts: isNumber,
    timeout: isOptionalNumber,
    journal: (value) => value === null || isStepList(value),
  },
  hook: { ...COMMON, hook: isText },
};

/** The execution that a body asks for, or what is wrong with it, in words. */
export function readPushed(
  body: unknown,
): { readonly pushed: Pushed; readonly fault: null } | { readonly pushed: null; readonly fault: string } {
  const refused = (fault: string) => ({ pushed: null, fault });
  if (body === undefined) return refused("The body is not JSON.");
  const { kind } = isObject(body) ? (body as { readonly kind?: unknown }) : {};
  const fields = typeof kind === "string" && Object.hasOwn(FIELDS, kind) ? FIELDS[kind] : undefined;
  if (!fields) return refused("The body is not an execution of a run or a hook.");
  const field = faultOf(body, fields);
  return field === null ? { pushed: body as Pushed, fault: null } : refused(`The body is not an execution: ${field} is missing or wrong.`);
}
