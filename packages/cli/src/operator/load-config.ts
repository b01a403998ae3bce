import { type Config, describeUnknownSettings, readConfig, SETTINGS } from "@tidemill/server";
import { printable } from "../output/table.ts";

/**
 * Reads the configuration and removes its secrets from the environment, so that neither child processes nor crash reports contain them.
 *
 * @throws {ConfigError}
 */
export function loadConfig(): Config {
  const config = readConfig(process.env);
  for (const { names, secret } of Object.values(SETTINGS)) {
    if (secret) for (const name of names) delete process.env[name];
  }
  process.report.excludeEnv = true;
  return config;
}

/** Writes a line for each variable that looks like a setting and is none. The start goes on: the variable may be of an older version. */
export function warnOfUnknownSettings(): void {
  for (const sentence of describeUnknownSettings(process.env)) process.stderr.write(`tidemill: ${printable(sentence)}\n`);
}
