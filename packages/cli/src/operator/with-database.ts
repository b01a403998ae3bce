import {
  type AdminContext,
  type Config,
  createAdminContext,
  DatabaseClock,
  Events,
  ensureSchema,
  isUndefined,
  type OpenDatabases,
  openDatabases,
  systemRandom,
} from "@tidemill/server";
import { exitWithError } from "../exit-with-error.ts";
import { loadConfig } from "./load-config.ts";

type Work = (databases: OpenDatabases, adminContext: AdminContext, config: Config) => Promise<void>;

/**
 * Runs work on the configured database. The embedded database is started for the duration of the work, unless a node is running it. A
 * database of another version is refused: only the start of a node upgrades one.
 */
export const withDatabase = (work: Work): Promise<void> => connect(work, "refuse");

/**
 * Like `withDatabase`, for what may have to be done before a node can upgrade the database. One of an older version is refused only if it
 * lacks a table or a column that the work uses. The work must change nothing before it has used all of them.
 */
export const withOlderDatabase = (work: Work): Promise<void> => connect(work, "accept");

async function connect(work: Work, older: "refuse" | "accept"): Promise<void> {
  try {
    const config = loadConfig();
    const events = new Events();
    const databases = await openDatabases(config, "guest", events.emit);
    try {
      await ensureSchema(databases.connection, events.emit, older);
      await work(databases, createAdminContext(new DatabaseClock(), systemRandom), config);
    } catch (error) {
      if (isUndefined(error)) await ensureSchema(databases.connection, events.emit);
      throw error;
    } finally {
      await databases.close();
    }
  } catch (error) {
    exitWithError(error);
  }
}
