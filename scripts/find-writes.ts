/** A write that a text has: the table, or null where the text does not say which, and the line that it stands on. */
export interface Write {
  readonly table: string | null;
  readonly line: number;
}

const NAME = String.raw`(?:only\s+)?(?:"?tidemill\w*"?\.)?("?[a-z_]\w*"?|%[\d$]*[IsL]|\$\{[^}]*\})`;

/**
 * Statements that write, with the table that each names. An update is one only with its `set`: `for update of job`, `for no key update`
 * and `on conflict do update set` write nothing, or what their insert names.
 */
const WRITES = [
  String.raw`\binsert\s+into\s+${NAME}`,
  String.raw`\bdelete\s+from\s+${NAME}`,
  String.raw`\bupdate\s+${NAME}(?:\s*\*)?(?:\s+as)?(?:\s+(?!set\b)\w+)?\s+set\b`,
  String.raw`\btruncate\s+(?:table\s+)?${NAME}`,
  String.raw`\bmerge\s+into\s+${NAME}`,
  String.raw`\bcopy\s+${NAME}(?:\s*\([^)]*\))?\s+from\b`,
  String.raw`\bdrop\s+table\s+(?:if\s+exists\s+)?${NAME}`,
].map((pattern) => new RegExp(pattern, "gi"));

/** Partitions that migrations make, as the table that they are of. */
const PARTITION = /_(?:later|forever|\d{4}_\d{2})$/;

/** Lines of nothing but a comment, of TypeScript or SQL, become empty. */
const withoutComments = (text: string): string => text.replaceAll(/^[ \t]*(?:\/\/|\/\*|\*(?= |\/|$)|--).*$/gm, "");

/** What the SQL in a text writes, be it a source file with templates or a migration. */
export function findWrites(text: string): Write[] {
  const code = withoutComments(text);
  const found = WRITES.flatMap((pattern) => [...code.matchAll(pattern)]).map(({ 1: name = "", index }) => ({
    table: /^[%$]/.test(name) ? null : name.replaceAll('"', "").toLowerCase().replace(PARTITION, ""),
    line: code.slice(0, index).split("\n").length,
  }));
  return found.toSorted((one, other) => one.line - other.line);
}

/** A shared part of statements: const NAME = fragment`…`. */
const FRAGMENT = /\bconst\s+(\w+)\s*=\s*fragment`([^`]*)`/g;

const INSERTED = /\$\{(\w+)\}/g;

/** The fragments that some sources define, each with the tables that it writes, by itself or by a fragment in it. */
export function findFragments(texts: readonly string[]): Map<string, Set<string>> {
  const bodies = texts.flatMap((text) => [...text.matchAll(FRAGMENT)].map(([, name = "", body = ""]) => ({ name, body })));
  const writes = new Map<string, Set<string>>();
  const known = () => [...writes.values()].reduce((sum, { size }) => sum + size, 0);
  let before = -1;
  while (before !== known()) {
    before = known();
    for (const { name, body } of bodies) {
      const own = findWrites(body).flatMap(({ table }) => table ?? []);
      const inner = [...body.matchAll(INSERTED)].flatMap(([, other = ""]) => [...(writes.get(other) ?? [])]);
      writes.set(name, new Set([...(writes.get(name) ?? []), ...own, ...inner]));
    }
  }
  return writes;
}

/** What a text writes by the fragments that stand in its templates. */
export function findFragmentWrites(text: string, fragments: ReadonlyMap<string, ReadonlySet<string>>): Write[] {
  return [...text.matchAll(INSERTED)].flatMap(({ 1: name = "", index }) =>
    [...(fragments.get(name) ?? [])].map((table) => ({ table, line: text.slice(0, index).split("\n").length })),
  );
}

/** The functions that migrations leave behind, each with the text of its last definition. */
export function findFunctions(migrations: string): Map<string, string> {
  const functions = new Map<string, string>();
  for (const statement of migrations.split(/^(?=(?:create|drop|alter|select|insert|update|with)\b)/im)) {
    const [, verb, name] = /^(create|drop)\s+(?:or\s+replace\s+)?function\s+(?:if\s+exists\s+)?(\w+)/i.exec(statement) ?? [];
    if (name === undefined) continue;
    if (verb?.toLowerCase() === "drop") functions.delete(name);
    else functions.set(name, statement);
  }
  return functions;
}
