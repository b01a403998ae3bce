import { open, stat } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { row, rows, sql } from "../../packages/server/src/kernel/index.ts";
import type { Environment } from "../environment.ts";

/** PostgreSQL logs statements that take longer. Milliseconds. */
const LOGGED_MS = 50;

/** The longest statement of a time. */
export interface Longest {
  /** Zero: none was logged. */
  readonly ms: number;
  readonly text: string;
}

/** Watches the statements of all connections by the log of the embedded PostgreSQL, from now on. The returned function ends it. */
export async function watchStatements(environment: Environment): Promise<() => Promise<Longest>> {
  const from = (await stat(environment.postgresLog)).size;
  await rows(environment.database, sql`alter system set log_min_duration_statement = 50`);
  await reload(environment, `${LOGGED_MS}ms`);
  return async () => {
    await rows(environment.database, sql`alter system reset log_min_duration_statement`);
    await reload(environment, "-1");
    return longestIn(await textFrom(environment.postgresLog, from));
  };
}

/** A reload reaches the other connections about as fast as this one. */
async function reload({ database }: Environment, value: string): Promise<void> {
  await rows(database, sql`select pg_reload_conf()`);
  const read = () => row<{ value: string }>(database, sql`select current_setting('log_min_duration_statement') as value`);
  while ((await read())?.value !== value) await wait(20);
}

async function textFrom(file: string, from: number): Promise<string> {
  const log = await open(file);
  try {
    const { size } = await log.stat();
    const { buffer } = await log.read(Buffer.alloc(size - from), 0, size - from, from);
    return buffer.toString();
  } finally {
    await log.close();
  }
}

/** Which is logged as `duration: 61.417 ms  execute <name>: <text>`, with its lines indented. */
function longestIn(log: string): Longest {
  let longest: Longest = { ms: 0, text: "" };
  for (const [, ms, text = ""] of log.matchAll(/duration: ([\d.]+) ms\s+(?:execute|statement|parse|bind)[^:]*:\s*([\s\S]*?)(?=\n\S|$)/g)) {
    if (Number(ms) > longest.ms) longest = { ms: Number(ms), text: text.replace(/\s+/g, " ").slice(0, 80) };
  }
  return longest;
}
