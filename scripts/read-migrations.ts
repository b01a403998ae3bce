import { readdir, readFile } from "node:fs/promises";

const DIRECTORY = new URL("../packages/server/migrations/", import.meta.url);

/** Reads the text of all migrations, in the order in which they run. */
export async function readMigrations(): Promise<string> {
  const files = (await readdir(DIRECTORY)).filter((file) => file.endsWith(".sql")).toSorted();
  return (await Promise.all(files.map((file) => readFile(new URL(file, DIRECTORY), "utf8")))).join("\n");
}
