import { type Config, readConfig, SETTINGS } from "@tidemill/server";

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
