import { createHash } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Events, migrate, openDatabases, readConfig } from "@tidemill/server";

/** Runs a statement that has no parameters. */
export type Query = <Row>(text: string) => Promise<Row[]>;

/** Runs `work` with a migrated, empty database on an embedded PostgreSQL, which is removed afterwards. */
export async function withMigratedDatabase<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(path.join(tmpdir(), "tidemill-docs-"));
  try {
    // Started by root, PostgreSQL runs as another user, who needs access to this directory.
    await chmod(directory, 0o711);
    const { emit } = new Events();
    const config = readConfig({ TIDEMILL_DATA_DIR: path.join(directory, "data") });
    const databases = await openDatabases(config, "guest", emit);
    try {
      await migrate(databases.connection, emit);
      return await work(async <Row>(text: string) => {
        // pg warns of names of more than 63 characters.
        const name = createHash("sha1").update(text).digest("base64url");
        return (await databases.engine.query({ name, text, values: [] })).rows as Row[];
      });
    } finally {
      await databases.close();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
