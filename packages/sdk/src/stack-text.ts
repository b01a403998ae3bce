import { thrownText } from "./thrown-text.ts";
import { causesOf } from "./workflow/causes.ts";

/** How many errors of a chain of causes it has. */
const MAX_ERRORS = 6;

/** The stack of what was thrown, followed by those of its causes, as text for a log. Never throws. */
export function stackText(thrown: unknown): string {
  try {
    const errors = [...causesOf(thrown)].slice(0, MAX_ERRORS);
    const stacks = errors.map((error) => error.stack ?? String(error));
    return stacks.length > 0 ? stacks.join("\nCaused by: ") : (thrownText(thrown) ?? "");
  } catch {
    return "";
  }
}
