import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Db, row, rows, sql } from "./sql.ts";

export const MIGRATIONS = fileURLToPath(new URL("../../../migrations", import.meta.url));

/** How the schema of a database compares with the migrations of this program. */
export interface SchemaState {
  /** Whether nothing was migrated yet. */
  readonly isEmpty: boolean;
  /** Names of migrations that the database does not have yet, in their order. */
  readonly pending: readonly string[];
  /** Names of migrations that the database has and this program does not: a newer version has upgraded the database. */
  readonly unknown: readonly string[];
}

/** The database needs another version of the program. The message is one line, for the operator who started it. */
class SchemaVersionError extends Error {
  override readonly name = "SchemaVersionError";
  readonly code = "SCHEMA_VERSION";
}

/** Compares the schema with the migrations of this program. It changes nothing. */
export async function readSchemaState(db: Db): Promise<SchemaState> {
  const known = (await readdir(MIGRATIONS))
    .filter((file) => file.endsWith(".sql"))
    .map((file) => file.slice(0, -".sql".length))
    .sort();
  const applied = new Set(await readApplied(db));
  return {
    isEmpty: applied.size === 0,
    pending: known.filter((name) => !applied.has(name)),
    unknown: [...applied].filter((name) => !known.includes(name)).sort(),
  };
}

async function readApplied(db: Db): Promise<string[]> {
  const found = await row<{ there: boolean }>(db, sql`select to_regclass('tidemill.migration') is not null as there`);
  if (!found?.there) return [];
  return (await rows<{ name: string }>(db, sql`select name from tidemill.migration`)).map(({ name }) => name);
}

/** @throws {SchemaVersionError} when a newer version of the program has upgraded the database */
export function refuseNewer({ unknown }: SchemaState): void {
  if (unknown.length === 0) return;
  throw new SchemaVersionError(
    `A newer version of Tidemill has upgraded the database: this version does not know ${listMigrations(unknown)}. Use the newer version, or restore the backup from before the upgrade.`,
  );
}

/** @throws {SchemaVersionError} when the database was made by an older version of the program, and not upgraded since */
export function refuseOlder({ isEmpty, pending }: SchemaState): void {
  if (isEmpty || pending.length === 0) return;
  throw new SchemaVersionError(
    `The database is of an older version of Tidemill: it lacks ${listMigrations(pending)}. Only a node upgrades a database. Make a backup, then start a node of this version; until then, use the commands of the older version.`,
  );
}

/** The number of migrations with the first and the last name, such as "3 migrations (0066_a to 0068_c)". */
export function listMigrations(names: readonly string[]): string {
  const [first, last] = [names[0], names.at(-1)];
  return names.length === 1 ? `1 migration (${first})` : `${names.length} migrations (${first} to ${last})`;
}
