import type { RunError } from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { thrownText } from "../thrown-text.ts";
import { causesOf } from "./causes.ts";

const NO_TEXT = "Something without a text was thrown.";
/** How many causes of an error, and how many `errors` of an AggregateError, its message says. */
const MAX_SAID = 5;

/**
 * The name and message of anything that was thrown. The message also says what the causes of an error say, as in Node's output:
 * `fetch failed [cause]: connect ECONNREFUSED 127.0.0.1:80`.
 */
export function failureOf(thrown: unknown): RunError {
  try {
    if (!(thrown instanceof Error)) return { name: "Error", message: storable(thrownText(thrown) ?? NO_TEXT, LIMITS.workerErrorLength) };
    return {
      name: storable(textOf(thrown.name), LIMITS.errorNameLength) || "Error",
      message: storable(withCauses(thrown), LIMITS.workerErrorLength),
    };
  } catch {
    return { name: "Error", message: NO_TEXT };
  }
}

/** A cause counts if the messages before it do not include what it says. */
function withCauses(error: Error): string {
  const messages = [messageOf(error)].filter((message) => message !== "");
  let causes = 0;
  for (const cause of causesOf(error)) {
    if (causes > MAX_SAID) break;
    causes += 1;
    const message = cause === error ? "" : readable(() => messageOf(cause));
    if (message !== "" && !messages.some((one) => one.includes(message))) messages.push(message);
  }
  return messages.join(" [cause]: ");
}

/** The message of an error. If it is empty, the messages of its `errors`, as those of several refused connections. */
function messageOf(error: Error): string {
  const message = textOf(error.message);
  const { errors } = error as { errors?: unknown };
  if (message !== "" || !Array.isArray(errors)) return message;
  const messages = errors
    .slice(0, MAX_SAID)
    .map((one) => readable(() => (one instanceof Error ? textOf(one.message) : (thrownText(one) ?? ""))));
  return [...new Set(messages)].filter((one) => one !== "").join("; ");
}

/** A program may have given an error a name or message that is not a string. */
const textOf = (given: unknown): string =>
  (typeof given === "string" ? given : (thrownText(given ?? "") ?? "")).slice(0, LIMITS.workerErrorLength);

/** Anything may have been thrown, even what throws when it is read. */
function readable(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

const storable = (text: string, max: number): string => text.slice(0, max).replaceAll("\0", "").toWellFormed();
