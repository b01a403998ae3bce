import type { SlicedWork } from "#kernel";
import { checkPayloadTemplates } from "#vault";
import type { CallToBegin } from "./read-call.ts";

/** A step that may request a call. */
interface Step {
  readonly call?: CallToBegin;
}

/** The length of the text that `checkCallTemplates` searches. Characters. */
export const callCharacters = (steps: readonly Step[]): number => steps.reduce((sum, { call }) => sum + (call?.request.length ?? 0), 0);

/**
 * Checks the templates of calls before they are stored, those of addresses, headers and bodies together. Source: contract §9.
 *
 * @throws VALIDATION_ERROR
 */
export function* checkCallTemplates(steps: readonly Step[]): SlicedWork<void> {
  for (const [at, { call }] of steps.entries()) if (call) yield* checkPayloadTemplates(call.request, `steps[${at}].http`);
}
