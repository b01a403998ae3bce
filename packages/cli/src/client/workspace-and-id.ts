/**
 * Reads the arguments `[workspace] <id>`. Operators give the workspace, whose record is in the database.
 *
 * @param what the kind of id, with its prefix: "a key, key_…"
 */
export function workspaceAndId(named: readonly string[], what: string): { readonly workspace: string | undefined; readonly id: string } {
  const [first = "", second, ...more] = named;
  if (more.length > 0 || (second === undefined && first.startsWith("ws_")))
    throw new Error(`Give the id of ${what}. Operators give its workspace before it.`);
  return second === undefined ? { workspace: undefined, id: first } : { workspace: first, id: second };
}
