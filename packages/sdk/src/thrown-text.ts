/**
 * The text of something thrown that is not an Error. For an object without a text of its own it is the JSON, unless that is empty. Null if
 * there is no text at all.
 */
export function thrownText(thrown: unknown): string | null {
  const text = orNull(() => String(thrown));
  const says = text !== null && !text.includes("[object ");
  if (says || typeof thrown !== "object") return text;
  const json = orNull(() => JSON.stringify(thrown));
  return json === null || json === "{}" ? text : json;
}

function orNull(make: () => string | undefined): string | null {
  try {
    return make() ?? null;
  } catch {
    return null;
  }
}
