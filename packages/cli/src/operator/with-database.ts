import {
  type AdminContext,
  type Config,
  createAdminContext,
  createSchema,
  DatabaseClock,
  Events,
  type OpenDatabases,
  openDatabases,
  systemRandom,
} from "@tidemill/server";
import { exitWithError } from "../exit-with-error.ts";
import { loadConfig } from "./load-config.ts";

/**
 * Runs work on the configured database. The embedded database is started for the duration of the work, unless a node is running it. A
 * database of another version is refused: only the start of a node upgrades one.
 */
export async function withDatabase(
  work: (databases: OpenDatabases, adminContext: AdminContext, config: Config) => Promise<void>,
): Promise<void> {
  try {
    const config = loadConfig();
    const events = new Events();
    const databases = await openDatabases(config, "guest", events.emit);
    try {
      await createSchema(databases.connection, events.emit);
      await work(databases, createAdminContext(new DatabaseClock(), systemRandom), config);
    } finally {
      await databases.close();
    }
  } catch (error) {
    exitWithError(error);
  }
}
