import type { AttemptResult } from "#engine";
import type { TextRedactor } from "#redaction";

/** What is sent to an endpoint, and what takes its secrets out of the response; or how the attempt ends, because it could not be made. */
export type Body =
  | { readonly kind: "body"; readonly text: string; readonly redactor: TextRedactor | null }
  | { readonly kind: "unsent"; readonly result: AttemptResult };
