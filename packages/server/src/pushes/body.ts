import type { AttemptResult } from "#engine";
import type { JsonParts } from "#kernel";
import type { TextRedactor } from "#redaction";

/**
 * What is sent to an endpoint, and the redactor that removes its secrets from the response; or how the attempt ends, because it could not
 * be made.
 */
export type Body =
  | {
      readonly kind: "body";
      readonly text: JsonParts;
      readonly redactor: TextRedactor | null;
      /** Whether the execution has stored a step since it began. Hooks have no steps. */
      readonly hasAdvanced?: () => Promise<boolean>;
    }
  | { readonly kind: "unsent"; readonly result: AttemptResult };
