import path from "node:path";
import { PLAN_NAMES } from "@tidemill/contract";
import { readAddressRange } from "./address-range.ts";
import { readKeyBytes } from "./key-bytes.ts";

/** A setting that was given a wrong value: one line for the person who set it. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Reads one value from its text; throws an Error that says what it must be. */
type Read<Value> = (text: string) => Value;

interface Setting<Value> {
  readonly names: readonly [string, ...string[]];
  readonly read: Read<Value>;
  readonly fallback: Value;
  readonly about: string;
  readonly secret: boolean;
}

function setting<Value>(names: string, read: Read<Value>, fallback: Value, about: string, { secret = false } = {}): Setting<Value> {
  return { names: names.split(" ") as [string, ...string[]], read, fallback, about, secret };
}

const integer =
  ({ min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number }): Read<number> =>
  (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) throw new Error(`must be a whole number from ${min} to ${max}`);
    return value;
  };
const port = integer({ min: 0, max: 65_535 });
const string: Read<string> = (text) => text;
const oneOf =
  <Value extends string>(values: readonly Value[]): Read<Value> =>
  (text) => {
    const value = values.find((one) => one === text);
    if (value === undefined) throw new Error(`must be one of ${values.join(", ")}`);
    return value;
  };
const directory: Read<string> = (text) => path.resolve(text);
const file: Read<string | null> = (text) => path.resolve(text);
const postgresUrl: Read<string | null> = (text) => {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) throw new Error("must be a postgres:// address");
  return text;
};
const workspaceKey: Read<string | null> = (text) => {
  if (!/^svc_ws_[0-9A-Za-z_-]{16,128}$/.test(text)) throw new Error("must be svc_ws_ and 16 to 128 letters, digits, _ or -");
  return text;
};
const token: Read<string | null> = (text) => {
  if (!/^[\x21-\x7e]{16,}$/.test(text)) throw new Error("must have at least 16 characters, all of ASCII and none a space");
  return text;
};
const masterKeys: Read<readonly string[]> = (text) => {
  const given = text.split(",").map((key) => key.trim());
  if (!given.every((key) => readKeyBytes(key) !== null)) {
    throw new Error("must be 32 bytes in base64 or hex, as `openssl rand -base64 32` makes them; several with commas");
  }
  return given;
};
const addresses: Read<readonly string[]> = (text) => {
  const entries = text.split(",").map((entry) => entry.trim());
  const given = entries.filter((entry) => entry !== "");
  for (const entry of given) readAddressRange(entry);
  return given;
};

/** Every setting of a node, with its environment variables, its default and what it is for. */
export const SETTINGS = {
  port: setting("TIDEMILL_PORT PORT", port, 8080, "Port of the API. 0 takes a free one."),
  host: setting("TIDEMILL_HOST", string, "127.0.0.1", "Address the API listens on."),
  internalPort: setting("TIDEMILL_INTERNAL_PORT", port, 8081, "Port of metrics and the operator API. 0 takes a free one."),
  internalHost: setting("TIDEMILL_INTERNAL_HOST", string, "127.0.0.1", "Address the internal listener listens on."),
  dataDir: setting("TIDEMILL_DATA_DIR", directory, path.resolve(".tidemill"), "Where the embedded PostgreSQL keeps its data."),
  databaseUrl: setting("DATABASE_URL", postgresUrl, null, "A PostgreSQL (15 or later) to use instead of the embedded one.", {
    secret: true,
  }),
  masterKeys: setting(
    "TIDEMILL_MASTER_KEY",
    masterKeys,
    [] as readonly string[],
    "Key of the secrets vault, 32 bytes in base64 or hex. During a rotation the old and the new one, with a comma.",
    { secret: true },
  ),
  masterKeyFile: setting(
    "TIDEMILL_MASTER_KEY_FILE",
    file,
    null,
    "File with the vault's key, made by the first start; not used when the key is given. `master.key` in the data directory when empty.",
  ),
  databaseConnections: setting(
    "TIDEMILL_DATABASE_CONNECTIONS",
    integer({ min: 6, max: 500 }),
    14,
    "Most database connections of one node.",
  ),
  statementTimeoutMs: setting(
    "TIDEMILL_STATEMENT_TIMEOUT_MS",
    integer({ min: 100, max: 60_000 }),
    10_000,
    "A statement is given up after this. Milliseconds.",
  ),
  adminToken: setting("TIDEMILL_ADMIN_TOKEN", token, null, "Bearer token of the operator API; without it that API is closed.", {
    secret: true,
  }),
  bootstrapKey: setting("TIDEMILL_BOOTSTRAP_KEY", workspaceKey, null, "Value of the first workspace's key; made up when not given.", {
    secret: true,
  }),
  defaultPlan: setting("TIDEMILL_DEFAULT_PLAN", oneOf(PLAN_NAMES), "enterprise", "Plan of the first workspace."),
  env: setting(
    "TIDEMILL_ENV",
    oneOf(["development", "production"]),
    "development",
    "In development, callbacks may go to loopback addresses.",
  ),
  allowAddresses: setting(
    "TIDEMILL_ALLOW_ADDRESSES",
    addresses,
    [] as readonly string[],
    "Private addresses that callbacks may go to: CIDR blocks, with commas.",
  ),
  drainSeconds: setting(
    "TIDEMILL_DRAIN_SECONDS",
    integer({ min: 0, max: 86_400 }),
    30,
    "How long a stopping node waits for callbacks under way. Seconds.",
  ),
  logLevel: setting("TIDEMILL_LOG_LEVEL", oneOf(["debug", "info", "warn", "error", "silent"]), "warn", "How much the log tells."),
  pollEveryMs: setting(
    "TIDEMILL_POLL_EVERY_MS",
    integer({ min: 50, max: 3_600_000 }),
    1_000,
    "How often to look for due jobs when no wake-up comes. Milliseconds.",
  ),
  nodeLeaseSeconds: setting(
    "TIDEMILL_NODE_LEASE_SECONDS",
    integer({ min: 2, max: 3_600 }),
    15,
    "A node silent for this long is taken for dead and its jobs are taken back. Seconds.",
  ),
  callbacksInFlight: setting(
    "TIDEMILL_CALLBACKS_IN_FLIGHT",
    integer({ min: 2 }),
    4_096,
    "Most callbacks that one node has under way; one queue gets at most half.",
  ),
  enqueueBacklog: setting(
    "TIDEMILL_ENQUEUE_BACKLOG",
    integer({ min: 1_000 }),
    20_000,
    "Jobs that may wait to be written before enqueue answers 503; one counts once more for each 8 kB.",
  ),
} as const satisfies Record<
  string,
  Setting<never> | Setting<number> | Setting<string> | Setting<string | null> | Setting<readonly string[]>
>;

export type Config = { readonly [Name in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[Name]["read"]> };

/**
 * Reads every setting from the environment. An empty variable counts as not given.
 *
 * @throws {ConfigError} naming the first variable whose value is refused
 */
export function readConfig(env: Record<string, string | undefined>): Config {
  const entries = Object.entries(SETTINGS).map(([name, one]) => [name, readSetting(one as Setting<unknown>, env)]);
  return Object.fromEntries(entries) as Config;
}

function readSetting({ names, read, fallback }: Setting<unknown>, env: Record<string, string | undefined>): unknown {
  const name = names.find((one) => env[one]);
  if (name === undefined) return fallback;
  try {
    return read(env[name] ?? "");
  } catch (error) {
    throw new ConfigError(`${name} ${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** Variables that belong to the demo, to clients, or to parts of Tidemill that read them themselves. */
const NOT_OF_A_NODE = new Set(["TIDEMILL_URL", "TIDEMILL_KEY"]);

/** Variables that look like settings and are none: a misspelt one would silently do nothing. */
export function unknownSettings(env: Record<string, string | undefined>): string[] {
  const known = new Set<string>(Object.values(SETTINGS).flatMap(({ names }) => names));
  return Object.keys(env).filter((name) => name.startsWith("TIDEMILL_") && !known.has(name) && !NOT_OF_A_NODE.has(name));
}

/** The settings as rows for people: name, value (secrets hidden), default, meaning. */
export function describeConfig(config: Config): { name: string; value: string; fallback: string; about: string }[] {
  return Object.entries(SETTINGS).map(([key, { names, fallback, about, secret }]) => {
    const value = config[key as keyof Config];
    return { name: names.join(" or "), value: secret && show(value) !== "" ? "(set)" : show(value), fallback: show(fallback), about };
  });
}

const show = (value: unknown): string => (value === null || (Array.isArray(value) && value.length === 0) ? "" : String(value));
