import { TemplateError } from "@tidemill/contract";

/** A callback cannot be made up: a template in it, or what is to be filled in, is at fault. The message is for the queue's owner. */
export class LetterError extends Error {
  override readonly name = "LetterError";
}

/** Does what may find fault with a template, and has the fault say where it stands. */
export function inPlace<Result>(place: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof TemplateError ? new LetterError(`The ${place} ${error.message}.`) : error;
  }
}
