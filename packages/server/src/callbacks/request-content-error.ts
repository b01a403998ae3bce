import { TemplateError } from "@tidemill/contract";

/** A callback's content cannot be built, because of a template or the secret for it. The message is for the queue's owner. */
export class RequestContentError extends Error {
  override readonly name = "RequestContentError";
}

/** Runs work on a template. When the template is wrong, the error names the place where it stands. */
export function withPlace<Result>(place: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw placed(place, error);
  }
}

/** The error of a template that stands in this place. Other errors stay as they are. */
export const placed = (place: string, error: unknown): unknown =>
  error instanceof TemplateError ? new RequestContentError(`The ${place} ${error.message}.`) : error;
