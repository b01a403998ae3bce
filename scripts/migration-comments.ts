/** The comments in the migrations that stand directly before a table, view, column or index. */
export interface MigrationComments {
  readonly relations: ReadonlyMap<string, string>;
  /** By `table.column`. */
  readonly columns: ReadonlyMap<string, string>;
  readonly indexes: ReadonlyMap<string, string>;
}

const COMMENT = /^\s*--\s?(.*)$/;
const RELATION = /^(?:create|alter)\s+(?:or\s+replace\s+)?(?:unlogged\s+)?(?:table|view)\s+(\w+)/;
const INDEX = /^create\s+(?:unique\s+)?index\s+(\w+)/;
const COLUMN = /^(?:.*?\badd\s+column\s+|\s+)(?!check\b|primary\b|foreign\b|unique\b|constraint\b)([a-z_]\w*)\s+\w/;

/** Reads the comments of all migrations, in order. A later comment on the same object wins. */
export function readComments(migrations: string): MigrationComments {
  const relations = new Map<string, string>();
  const columns = new Map<string, string>();
  const indexes = new Map<string, string>();
  let relation: string | null = null;
  let comment: string[] = [];
  for (const line of migrations.split("\n")) {
    const commented = COMMENT.exec(line);
    if (commented) {
      comment.push(commented[1] ?? "");
      continue;
    }
    if (/^\S/.test(line)) relation = RELATION.exec(line)?.[1] ?? null;
    const [, index] = INDEX.exec(line) ?? [];
    const [, column] = (relation && COLUMN.exec(line)) || [];
    if (comment.length > 0) {
      const text = comment.join(" ");
      if (index) indexes.set(index, text);
      else if (relation && column) columns.set(`${relation}.${column}`, text);
      else if (relation && /^create/.test(line)) relations.set(relation, text);
    }
    comment = [];
  }
  return { relations, columns, indexes };
}
