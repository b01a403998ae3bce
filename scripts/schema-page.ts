import { code, table } from "./markdown.ts";
import type { Query } from "./migrated-database.ts";
import type { MigrationComments } from "./migration-comments.ts";
import { TABLES, WRITING_FUNCTIONS } from "./table-owners.ts";

interface Relation {
  readonly name: string;
  readonly kind: "table" | "view";
  readonly unlogged: boolean;
  readonly partitioned: string | null;
}

interface Column {
  readonly relation: string;
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly value: string | null;
}

interface Detail {
  readonly relation: string;
  readonly name: string;
  readonly definition: string;
}

const RELATIONS = `
  select c.relname as name, case c.relkind when 'v' then 'view' else 'table' end as kind, c.relpersistence = 'u' as unlogged,
    pg_get_partkeydef(c.oid) as partitioned
  from pg_class c
  where c.relnamespace = 'tidemill'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition`;

const COLUMNS = `
  select c.relname as relation, a.attname as name, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable,
    case a.attidentity when '' then pg_get_expr(d.adbin, d.adrelid, true) else 'identity' end as value
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where c.relnamespace = 'tidemill'::regnamespace and c.relkind in ('r', 'p', 'v')
  order by a.attnum`;

const INDEXES = `
  select c.relname as relation, i.relname as name,
    case when x.indisprimary then 'primary key ' when x.indisunique then 'unique ' else '' end
      || regexp_replace(pg_get_indexdef(i.oid, 0, true), '^.* USING (btree )?', '') as definition
  from pg_index x
  join pg_class c on c.oid = x.indrelid
  join pg_class i on i.oid = x.indexrelid
  where c.relnamespace = 'tidemill'::regnamespace
  order by not x.indisprimary, i.relname`;

/** Without the not-null constraints, which PostgreSQL lists here since version 18. */
const CONSTRAINTS = `
  select c.relname as relation, k.conname as name, pg_get_constraintdef(k.oid, true) as definition
  from pg_constraint k
  join pg_class c on c.oid = k.conrelid
  where c.relnamespace = 'tidemill'::regnamespace and k.contype in ('c', 'f') and k.conparentid = 0
  order by k.contype desc, k.conname`;

const TYPES = `
  select '' as relation, t.typname as name, string_agg(e.enumlabel, ', ' order by e.enumsortorder) as definition
  from pg_type t join pg_enum e on e.enumtypid = t.oid
  where t.typnamespace = 'tidemill'::regnamespace group by t.typname order by t.typname`;

/**
 * Writes docs/schema.md: each table and view with its owner.
 *
 * @param query runs on a connection whose `search_path` begins with the schema, so that names have no prefix
 * @param comments the migrations' comments on tables, columns and indexes
 * @param isOfTests whether a table, index or constraint of this name does not belong to the schema, because a test created it
 * @throws if a table is missing from scripts/table-owners.ts, or exists only there
 */
export async function schemaPage(query: Query, comments: MigrationComments, isOfTests = (_name: string) => false): Promise<string> {
  const relations = (await query<Relation>(RELATIONS)).filter(({ name }) => !isOfTests(name));
  const names = relations.map(({ name }) => name);
  const unowned = names.filter((name) => !Object.hasOwn(TABLES, name));
  if (unowned.length > 0) throw new Error(`Without an owner in scripts/table-owners.ts: ${unowned.join(", ")}.`);
  const gone = Object.keys(TABLES).filter((name) => !names.includes(name));
  if (gone.length > 0) throw new Error(`These tables of scripts/table-owners.ts do not exist: ${gone.join(", ")}.`);

  const columns = Map.groupBy(await query<Column>(COLUMNS), ({ relation }) => relation);
  const indexes = Map.groupBy(
    (await query<Detail>(INDEXES)).filter(({ name }) => !isOfTests(name)),
    ({ relation }) => relation,
  );
  const constraints = Map.groupBy(
    (await query<Detail>(CONSTRAINTS)).filter(({ name }) => !isOfTests(name)),
    ({ relation }) => relation,
  );
  const types = await query<Detail>(TYPES);
  const byName = new Map(relations.map((relation) => [relation.name, relation]));
  const sections = Object.keys(TABLES).map((name) => {
    const relation = byName.get(name) as Relation;
    return section(relation, columns.get(name) ?? [], indexes.get(name) ?? [], constraints.get(name) ?? [], comments);
  });
  return `${[INTRODUCTION, typesSection(types), functionsSection(), ...sections].join("\n\n")}\n`;
}

const INTRODUCTION = `# The schema

<!-- Generated from a migrated database and scripts/table-owners.ts by \`npm run docs\`. Do not edit. -->

Every table has one owner: a folder of \`packages/server/src\`. Only the owner's statements write the table. Any folder may read it.
\`npm run check\` refuses other writes, except [the listed ones](sql.md#statements-that-write-tables-of-two-owners). The meaning of a
table, a column or an index is the comment before it in \`packages/server/migrations\`.`;

const typesSection = (types: readonly Detail[]): string =>
  `## Types\n\n${table(
    ["type", "values"],
    types.map(({ name, definition }) => [code(name), definition.split(", ").map(code).join(", ")]),
  )}`;

function functionsSection(): string {
  const rows = Object.entries(WRITING_FUNCTIONS).map(([name, { owner, writes, reason = "" }]) => [
    code(name),
    code(owner),
    writes.map(code).join(", "),
    reason,
  ]);
  const about = "Any statement may call these functions. Each follows the rules of its owner.";
  return `## Functions that write\n\n${about}\n\n${table(["function", "owner", "writes", "reason for writing another owner's table"], rows)}`;
}

function section(
  { name, kind, unlogged, partitioned }: Relation,
  columns: readonly Column[],
  indexes: readonly Detail[],
  constraints: readonly Detail[],
  comments: MigrationComments,
): string {
  const { owner, holds } = TABLES[name] as (typeof TABLES)[string];
  const facts = [
    `Owner: \`${owner}\`. ${comments.relations.get(name) ?? holds}`,
    unlogged ? "Unlogged: empty after a crash of PostgreSQL." : "",
    partitioned === null ? "" : `Partitioned by \`${partitioned.toLowerCase()}\`.`,
  ];
  const isTable = kind === "table";
  const rows = columns.map((column) => [
    code(column.name),
    code(column.type),
    ...(isTable ? [column.nullable ? "yes" : "no", column.value === null ? "" : code(column.value)] : []),
    comments.columns.get(`${name}.${column.name}`) ?? "",
  ]);
  const parts = [`## \`${name}\``, facts.filter((fact) => fact !== "").join(" ")];
  parts.push(withoutEmptyEnd(["column", "type", ...(isTable ? ["null", "default"] : []), "meaning"], rows));
  const described = indexes.map((index) => [code(index.name), code(index.definition), comments.indexes.get(index.name) ?? ""]);
  if (indexes.length > 0) parts.push(withoutEmptyEnd(["index", "on", "meaning"], described));
  const conditions = constraints.map((constraint) => [code(constraint.name), code(constraint.definition)]);
  if (constraints.length > 0) parts.push(table(["constraint", "definition"], conditions));
  return parts.join("\n\n");
}

/** A table without its last column if that column is empty. */
const withoutEmptyEnd = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.every((cells) => cells.at(-1) === "")
    ? table(
        head.slice(0, -1),
        rows.map((cells) => cells.slice(0, -1)),
      )
    : table(head, rows);
