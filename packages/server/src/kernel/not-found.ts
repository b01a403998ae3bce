import type { NotFoundDetails } from "@tidemill/contract";
import { nearest } from "./nearest.ts";
import { ProblemError } from "./problem.ts";

/** How many names on each side of a missing one are compared with it: a workspace may have a million. */
export const MAX_NAMES_COMPARED = 100;

/** Names and paths of routes are shorter. A longer text that a caller sent in place of one is shown in part. */
const MAX_SHOWN = 256;

/** Makes a NOT_FOUND that says what was looked for, and what was probably meant. */
export function notFound(details: NotFoundDetails): ProblemError {
  const shown = Object.fromEntries(Object.entries(details).map(([name, value]) => [name, value && shorten(value)])) as NotFoundDetails;
  return new ProblemError("NOT_FOUND", `There is no ${subjectOf(shown)}.${hintOf(shown)}`, shown, {});
}

/** NOT_FOUND for what has a name. @param around the workspace's own names that are compared with it */
export const namedNotFound = (
  resource: "queue" | "schedule" | "secret",
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
    case "key":
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

const shorten = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}…` : text);
