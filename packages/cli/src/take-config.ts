import { type Config, readConfig, SETTINGS } from "@tidemill/server";

/**
 * Reads the configuration, and takes what is secret of it out of the environment: neither programs that we start nor a report of
 * a crash shall have it.
 *
 * @throws {ConfigError}
 */
export function takeConfig(): Config {
  const config = readConfig(process.env);
  for (const { names, secret } of Object.values(SETTINGS)) {
    if (secret) for (const name of names) delete process.env[name];
  }
  process.report.excludeEnv = true;
  return config;
}
