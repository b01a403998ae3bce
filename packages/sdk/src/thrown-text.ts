/**
 * The text of what was thrown and is no Error: of an object without a text of its own it is the JSON. Null for what has no text at all.
 */
export function thrownText(thrown: unknown): string | null {
  const text = orNull(() => String(thrown));
  const says = text !== null && !text.includes("[object ");
  return says || typeof thrown !== "object" ? text : (orNull(() => JSON.stringify(thrown)) ?? text);
}

function orNull(make: () => string | undefined): string | null {
  try {
    return make() ?? null;
  } catch {
    return null;
  }
}
