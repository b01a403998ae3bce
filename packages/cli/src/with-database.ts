import {
  createRegistrar,
  DatabaseClock,
  Events,
  migrate,
  type OpenDatabases,
  openDatabases,
  type Registrar,
  readConfig,
  systemRandom,
} from "@tidemill/server";
import { fail } from "./fail.ts";

/** Runs work on the database of the configuration: beside a running node, or with the embedded one started for the while. */
export async function withDatabase(work: (databases: OpenDatabases, registrar: Registrar) => Promise<void>): Promise<void> {
  try {
    const events = new Events();
    const databases = await openDatabases(readConfig(process.env), "guest", events.emit);
    try {
      await migrate(databases.connection, events.emit);
      await work(databases, createRegistrar(new DatabaseClock(), systemRandom));
    } finally {
      await databases.close();
    }
  } catch (error) {
    fail(error);
  }
}
