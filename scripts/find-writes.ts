/** A write in an SQL text. */
export interface Write {
  /** Null if the table's name is not in the text. */
  readonly table: string | null;
  readonly line: number;
}

const NAME = String.raw`(?:only\s+)?(?:"?tidemill\w*"?\.)?("?[a-z_]\w*"?|%[\d$]*[IsL]|\$\{[^}]*\})`;

/**
 * Statements that write, with the table that each names. An update counts only with a table and `set`. So `for update of job` and
 * `for no key update` do not match, nor does `on conflict do update set`, whose table is that of the insert.
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

/** The ending that a partition adds to the name of its table. */
const PARTITION = /_(?:later|forever|\d{4}_\d{2})$/;

/** Empties lines that hold only a comment, in TypeScript or SQL. */
const withoutComments = (text: string): string => text.replaceAll(/^[ \t]*(?:\/\/|\/\*|\*(?= |\/|$)|--).*$/gm, "");

/** Finds the writes in a text: a source file with SQL templates, or a migration. */
export function findWrites(text: string): Write[] {
  const code = withoutComments(text);
  const found = WRITES.flatMap((pattern) => [...code.matchAll(pattern)]).map(({ 1: name = "", index }) => ({
    table: /^[%$]/.test(name) ? null : name.replaceAll('"', "").toLowerCase().replace(PARTITION, ""),
    line: code.slice(0, index).split("\n").length,
  }));
  return found.toSorted((one, other) => one.line - other.line);
}

/** Matches a shared part of statements: const NAME = fragment`…`. */
const FRAGMENT = /\bconst\s+(\w+)\s*=\s*fragment`([^`]*)`/g;

const INSERTED = /\$\{(\w+)\}/g;

/** Finds the fragments that the sources define, with the tables that each writes: itself, or through a fragment in it. */
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

/** Finds the writes that a text does through the fragments in its templates. */
export function findFragmentWrites(text: string, fragments: ReadonlyMap<string, ReadonlySet<string>>): Write[] {
  return [...text.matchAll(INSERTED)].flatMap(({ 1: name = "", index }) =>
    [...(fragments.get(name) ?? [])].map((table) => ({ table, line: text.slice(0, index).split("\n").length })),
  );
}

/** Finds the functions that exist after all migrations, each with the text of its last definition. */
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
