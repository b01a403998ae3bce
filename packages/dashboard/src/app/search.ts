/** The query string as texts, so that digits and names stay as they are. */
export type Search = Record<string, string>;

export const readSearch = (text: string): Search => Object.fromEntries(new URLSearchParams(text));

/** Writes a query string. Empty values are left out. */
export function writeSearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}
