import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { findFragments, findFragmentWrites, findFunctions, findWrites } from "./find-writes.ts";
import { readMigrations } from "./read-migrations.ts";
import { EXCEPTIONS, TABLES, WRITING_FUNCTIONS } from "./table-owners.ts";

/**
 * Refuses SQL that writes a table outside of its owner's folder, in the sources and in the schema's functions. First it proves on
 * examples that it refuses and accepts the right code.
 */

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SERVER = "packages/server/src/";

interface Source {
  /** From the root of the repository. */
  readonly file: string;
  readonly text: string;
}

interface Violation {
  readonly file: string;
  readonly table: string;
  readonly message: string;
}

/** Writes to tables that belong to another folder than the file's. Files outside of the server own nothing. */
function violationsOf({ file, text }: Source, fragments: ReturnType<typeof findFragments>): Violation[] {
  const within = file.startsWith(SERVER) ? file.slice(SERVER.length) : null;
  const folder = within?.includes("/") ? within.split("/")[0] : null;
  return [...findWrites(text), ...findFragmentWrites(text, fragments)].flatMap(({ table, line }) => {
    const at = `${file}:${line}`;
    const where = within ?? file;
    if (table === null) return { file: where, table: "?", message: `${at} writes a table whose name is not in the statement.` };
    const owner = TABLES[table]?.owner;
    if (owner === undefined || owner === folder) return [];
    return { file: where, table, message: `${at} writes ${table}, which only ${owner} may write (scripts/table-owners.ts).` };
  });
}

/** Finds forbidden writes in the sources, and exceptions that no source needs. */
function check(sources: readonly Source[]): string[] {
  const fragments = findFragments(sources.map(({ text }) => text));
  const violations = sources.flatMap((source) => violationsOf(source, fragments));
  const allowed = EXCEPTIONS.flatMap(({ file, writes }) => writes.map((table) => `${file} ${table}`));
  const needed = new Set(violations.map(({ file, table }) => `${file} ${table}`));
  return [
    ...violations.filter(({ file, table }) => !allowed.includes(`${file} ${table}`)).map(({ message }) => message),
    ...allowed.filter((entry) => !needed.has(entry)).map((entry) => `scripts/table-owners.ts: no statement needs ${entry}. Delete it.`),
  ];
}

/** Compares the tables that each function of the schema writes with WRITING_FUNCTIONS. */
function checkFunctions(migrations: string): string[] {
  const written = new Map(
    [...findFunctions(migrations)].flatMap(([name, text]) => {
      const tables = findWrites(text).flatMap(({ table }) => (table === null || Object.hasOwn(TABLES, table) ? [table] : []));
      return tables.length > 0 ? [[name, new Set(tables)] as const] : [];
    }),
  );
  const unlisted = [...written.keys()].filter((name) => !Object.hasOwn(WRITING_FUNCTIONS, name));
  const wrong = unlisted.map((name) => `Function ${name} writes tables and has no owner (scripts/table-owners.ts).`);
  for (const [name, { owner, writes, reason }] of Object.entries(WRITING_FUNCTIONS)) {
    const tables = written.get(name);
    if (!tables) wrong.push(`scripts/table-owners.ts: function ${name} writes nothing, or does not exist. Delete it.`);
    // A function that computes table names (`%I`) cannot be checked: the list is taken as true.
    const surplus = tables?.has(null) ? [] : writes.filter((table) => !tables?.has(table));
    const missing = [...(tables ?? [])].filter((table) => table !== null && !writes.includes(table));
    for (const table of missing) wrong.push(`Function ${name} writes ${table}, which scripts/table-owners.ts does not list.`);
    for (const table of surplus) wrong.push(`Function ${name} does not write ${table}, but scripts/table-owners.ts lists it.`);
    const foreign = writes.filter((table) => TABLES[table]?.owner !== owner);
    if (foreign.length > 0 && reason === undefined)
      wrong.push(`Function ${name} of ${owner} writes ${foreign.join(", ")} of another owner and gives no reason.`);
  }
  return wrong;
}

/** SQL, and the tables that it writes. */
const CASES: readonly (readonly [sql: string, ...writes: (string | null)[]])[] = [
  ["insert into job (id) select 1", "job"],
  ["INSERT INTO job VALUES (1)", "job"],
  ["insert into tidemill.job values (1)", "job"],
  ['insert into "job" values (1)', "job"],
  ["insert\n  into job values (1)", "job"],
  ["update job set state = 'failed'", "job"],
  ["update job j set state = 'failed' from queue q", "job"],
  ["update only job as j\n set state = 'failed'", "job"],
  ["delete from job using queue q", "job"],
  ["delete from job_history_later", "job_history"],
  ["truncate job", "job"],
  ["truncate table only job", "job"],
  ["merge into job using queue on true when matched then delete", "job"],
  ["copy job (id) from stdin", "job"],
  ["drop table if exists job_history_2026_11", "job_history"],
  [
    "with gone as (delete from job returning *), kept as (insert into job_history select * from gone) update queue q set a = 1",
    "job",
    "job_history",
    "queue",
  ],
  ["insert into queue values (1) on conflict (id) do update set name = excluded.name", "queue"],
  ["select 1 from job for update"],
  ["select 1 from job j for no key update of j skip locked"],
  ["with u as (select 1 from job for update skip locked) select set_config('a', 'b', true) from u"],
  ["copy job to stdout"],
  ["-- update job set state = 'failed'"],
  ["execute format('insert into %I select * from moved', name)", null],
  ["execute format('delete from %1$I', name)", null],
  ["update ${table} set a = 1", null],
];

/** Sources that the whole check must refuse, each with a part of the expected message. */
const CANARIES: readonly (Source & { readonly says: string })[] = [
  { file: `${SERVER}status/canary.ts`, text: "sql`\n  update job set state = 'failed'`;\n", says: "status/canary.ts:2 writes job" },
  { file: `${SERVER}main.ts`, text: 'db.query("delete from queue")', says: "main.ts:1 writes queue" },
  { file: "packages/cli/src/canary.ts", text: "sql`truncate workspace`", says: "packages/cli/src/canary.ts:1 writes workspace" },
  {
    file: `${SERVER}usage/canary.ts`,
    text: "sql`insert into ${table} values (1)`",
    says: "usage/canary.ts:1 writes a table whose name is not",
  },
];

/** A fragment that writes is allowed in its owner's folder. A statement of another folder that includes it writes too. */
const CANARY_FRAGMENTS: readonly Source[] = [
  {
    file: `${SERVER}usage/canary.ts`,
    text: "const USE = fragment`insert into usage_delta select 1`;\nexport const CANARY = fragment`used as (${USE})`;",
  },
  { file: `${SERVER}usage/own.ts`, text: "sql`with ${CANARY} select 1`" },
  { file: `${SERVER}status/canary.ts`, text: "sql`\n  with ${CANARY} select 1`" },
];

const CANARY_FUNCTIONS = `
create function pay() returns void language sql as $$
  update quota_month set executions = 0 $$;
create function pay_not() returns void language sql as $$ select 1 $$;
drop function pay();
create or replace function move() returns void language plpgsql as $$
begin
  delete from job;
end $$;
`;

const wrong: string[] = [];
for (const [sql, ...writes] of CASES) {
  const found = findWrites(sql).map(({ table }) => table);
  if (JSON.stringify(found.toSorted()) !== JSON.stringify(writes.toSorted()))
    wrong.push(`Found ${found.join(", ") || "nothing"} in: ${sql}`);
}
const sourceFiles = (await readdir(path.join(ROOT, "packages"), { recursive: true })).filter((file) => /^\w+\/src\/.*\.ts$/.test(file));
const read = async (file: string): Promise<Source> => ({ file, text: await readFile(path.join(ROOT, file), "utf8") });
const sources = await Promise.all(sourceFiles.toSorted().map((file) => read(`packages/${file}`)));
for (const { says, ...canary } of CANARIES) {
  if (!check([...sources, canary]).some((message) => message.includes(says))) wrong.push(`The check must refuse: ${canary.text}`);
}
const fragmentsSaid = check([...sources, ...CANARY_FRAGMENTS]).filter((message) => /\/(canary|own)\.ts:/.test(message));
if (fragmentsSaid.length !== 1 || !fragmentsSaid[0]?.includes("status/canary.ts:2 writes usage_delta"))
  wrong.push(`The check must refuse a fragment that writes in another folder, and only there. It said: ${fragmentsSaid.join(" ")}`);
if (!checkFunctions(CANARY_FUNCTIONS).some((message) => message.includes("Function move writes tables and has no owner")))
  wrong.push("The check must refuse a function that writes tables and has no owner.");
if (checkFunctions(CANARY_FUNCTIONS).some((message) => message.includes("Function pay")))
  wrong.push("The check must ignore functions that were dropped or that write nothing.");

wrong.push(...check(sources), ...checkFunctions(await readMigrations()));

const folders = (await readdir(path.join(ROOT, SERVER), { withFileTypes: true })).filter((entry) => entry.isDirectory());
for (const [name, { owner }] of Object.entries({ ...TABLES, ...WRITING_FUNCTIONS })) {
  if (!folders.some((folder) => folder.name === owner))
    wrong.push(`scripts/table-owners.ts: ${owner}, the owner of ${name}, is not a folder.`);
}

for (const line of wrong) process.stderr.write(`${line}\n`);
if (wrong.length > 0) process.exit(1);
const writes = sources.flatMap(({ text }) => findWrites(text)).filter(({ table }) => table !== null && Object.hasOwn(TABLES, table));
process.stdout.write(`Table owners: ${writes.length} writes in the sources; ${EXCEPTIONS.length} files with exceptions.\n`);
