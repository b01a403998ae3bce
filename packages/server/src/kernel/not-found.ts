import type { NotFoundDetails } from "@tidemill/contract";
import { cut } from "./cut.ts";
import { nearest } from "./nearest.ts";
import { ProblemError } from "./problem.ts";

/** How many names on each side of a missing name are compared with it. A workspace may have a million names. */
export const MAX_NAMES_COMPARED = 100;

/** Longer than any valid name or route. A text from a caller is cut to this length in messages. Characters. */
const MAX_SHOWN = 256;

/** Creates a NOT_FOUND error that says what does not exist, and what was probably meant. */
export function notFound(details: NotFoundDetails): ProblemError {
  const shown = Object.fromEntries(
    Object.entries(details).map(([name, value]) => [name, value && cut(value, MAX_SHOWN)]),
  ) as NotFoundDetails;
  return new ProblemError("NOT_FOUND", `There is no ${subjectOf(shown)}.${hintOf(shown)}`, shown, {});
}

/** Creates a NOT_FOUND error for a resource with a name. @param around names of the workspace that are compared with it */
export const namedNotFound = (
  resource: "queue" | "schedule" | "secret" | "workflow" | "webhook",
  name: string,
  around: readonly { readonly name: string }[],
): ProblemError =>
  notFound({
    resource,
    name,
    suggestion: nearest(
      name,
      around.map((one) => one.name),
    ),
  });

function subjectOf(details: NotFoundDetails): string {
  switch (details.resource) {
    case "job":
      return `job ${quoted(details.id)} in the queue ${quoted(details.queue)}`;
    case "delivery":
      return `delivery ${quoted(details.id)} of the webhook ${quoted(details.webhook)}`;
    case "link":
      return "such link. It was used, has expired, or is misspelt";
    case "invitation":
    case "key":
    case "member":
    case "passkey":
    case "operation":
    case "session":
    case "run":
    case "signal":
    case "workspace":
      return `${details.resource} ${quoted(details.id)}`;
    case "route":
      return `route ${details.method} ${details.path}`;
    default:
      return `${details.resource} ${quoted(details.name)}`;
  }
}

const hintOf = (details: NotFoundDetails): string =>
  "suggestion" in details && details.suggestion !== null ? ` Did you mean ${quoted(details.suggestion)}?` : "";

const quoted = (text: string): string => JSON.stringify(text);
