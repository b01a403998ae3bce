import {
  type AdminContext,
  type Config,
  createAdminContext,
  DatabaseClock,
  Events,
  migrate,
  type OpenDatabases,
  openDatabases,
  systemRandom,
} from "@tidemill/server";
import { fail } from "./fail.ts";
import { takeConfig } from "./take-config.ts";

/** Runs work on the database of the configuration: beside a running node, or with the embedded one started for the while. */
export async function withDatabase(
  work: (databases: OpenDatabases, adminContext: AdminContext, config: Config) => Promise<void>,
): Promise<void> {
  try {
    const config = takeConfig();
    const events = new Events();
    const databases = await openDatabases(config, "guest", events.emit);
    try {
      await migrate(databases.connection, events.emit);
      await work(databases, createAdminContext(new DatabaseClock(), systemRandom), config);
    } finally {
      await databases.close();
    }
  } catch (error) {
    fail(error);
  }
}
