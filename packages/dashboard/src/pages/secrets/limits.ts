/** A list of names as a text: `all` when there is no limit. */
export const limitText = (names: readonly string[] | null, all: string): string =>
  names === null ? all : names.length === 0 ? "none" : names.join(", ");

/** What somebody typed: names between commas or spaces. Null for nothing: no limit. */
export const readLimit = (text: string): string[] | null => {
  const names = text.split(/[\s,]+/).filter((name) => name !== "");
  return names.length === 0 ? null : [...new Set(names)];
};
