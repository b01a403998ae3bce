import { isIP, isIPv4, isIPv6 } from "node:net";
import path from "node:path";
import { PLAN_NAMES } from "@tidemill/contract";
import { readAddressRange } from "./address-range.ts";
import { readKeyBytes } from "./key-bytes.ts";
import { nearest } from "./nearest.ts";
import { MIN_MEMORY_MIB } from "./shares/memory.ts";

/** A setting has an invalid value. The message is one line for the person who set it. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Reads a value from its text. Throws an Error that says what the value must be. */
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
const memory: Read<number | null> = integer({ min: MIN_MEMORY_MIB });
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
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error("must be a postgres:// URL");
  if (!URL.canParse(text) || text.includes("#"))
    throw new Error(
      "must be a valid postgres:// URL; in a user name or a password, write # as %23, / as %2F, ? as %3F, @ as %40, : as %3A and % as %25",
    );
  return text;
};
const workspaceKey: Read<string | null> = (text) => {
  if (!/^svc_ws_[0-9A-Za-z_-]{16,128}$/.test(text)) throw new Error("must be svc_ws_ followed by 16 to 128 letters, digits, _ or -");
  return text;
};
const token: Read<string | null> = (text) => {
  if (!/^[\x21-\x7e]{16,}$/.test(text)) throw new Error("must have at least 16 characters, all printable ASCII and no spaces");
  return text;
};
const masterKeys: Read<readonly string[]> = (text) => {
  const given = text.split(",").map((key) => key.trim());
  if (!given.every((key) => readKeyBytes(key) !== null)) {
    throw new Error("must be 32 bytes in base64 or hex, for example from `openssl rand -base64 32`; separate several keys by commas");
  }
  return given;
};
const addresses: Read<readonly string[]> = (text) => {
  const entries = text.split(",").map((entry) => entry.trim());
  const given = entries.filter((entry) => entry !== "");
  for (const entry of given) readAddressRange(entry);
  return given;
};

const dnsServers: Read<readonly string[]> = (text) => {
  const given = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  for (const entry of given) {
    if (!isDnsServer(entry)) throw new Error(`must be IP addresses, with or without ports, separated by commas; "${entry}" is not one`);
  }
  return given;
};

const maxConnections: Read<number | null> = integer({ min: 16, max: 1_000_000 });

/** Whether a text is an IP address, or one with a port: `10.0.0.2:53`, `[fd00::2]:53`. */
function isDnsServer(text: string): boolean {
  const [, v6, v4, portText] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  if (portText === undefined) return isIP(text) !== 0;
  return (v6 === undefined ? isIPv4(v4 ?? "") : isIPv6(v6)) && Number(portText) >= 1 && Number(portText) <= 65_535;
}

const httpUrl: Read<string | null> = (text) => {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new Error("must be an http:// or https:// URL");
  return text;
};
const smtpUrl: Read<string | null> = (text) => {
  if (!/^smtps?:\/\//.test(text) || !URL.canParse(text)) throw new Error("must be an smtp:// or smtps:// URL");
  return text;
};
const groupRoles: Read<readonly string[]> = (text) => {
  const given = text.split(",").map((rule) => rule.trim());
  const rules = given.filter((rule) => rule !== "");
  const odd = rules.find((rule) => !/^[^=]+=(operator|ws_[0-7][0-9a-hjkmnp-tv-z]{25}:(admin|write|read))$/.test(rule));
  if (odd !== undefined) throw new Error(`must be rules like group=ws_…:write or group=operator, separated by commas; "${odd}" is not one`);
  return rules;
};
const hosts: Read<readonly string[]> = (text) => {
  const given = text.split(",").map((name) => name.trim().toLowerCase());
  const names = given.filter((name) => name !== "");
  const odd = names.find((name) => name !== "*" && !/^[a-z0-9_]([a-z0-9._-]*[a-z0-9_-])?$/.test(name));
  if (odd !== undefined) throw new Error(`must be host names without ports, separated by commas, or "*"; "${odd}" is neither`);
  return names;
};

/** All settings of a node, with their environment variables, defaults and meanings. */
export const SETTINGS = {
  port: setting("TIDEMILL_PORT PORT", port, 8080, "Port of the API. 0 chooses a free port."),
  host: setting("TIDEMILL_HOST", string, "127.0.0.1", "Address on which the API listens."),
  internalPort: setting("TIDEMILL_INTERNAL_PORT", port, 8081, "Port of metrics and the operator API. 0 chooses a free port."),
  internalHost: setting("TIDEMILL_INTERNAL_HOST", string, "127.0.0.1", "Address on which metrics and the operator API listen."),
  dashboard: setting(
    "TIDEMILL_DASHBOARD",
    oneOf(["on", "off"]),
    "on",
    "`off` removes the dashboard: its pages, signing in, and the API that its pages use.",
  ),
  publicUrl: setting("TIDEMILL_PUBLIC_URL", httpUrl, null, "URL at which clients reach the API. Requests for its host are served."),
  allowedHosts: setting(
    "TIDEMILL_ALLOWED_HOSTS",
    hosts,
    [] as readonly string[],
    "Host names for which requests are served, separated by commas; `*` for all. A listener on a loopback address always checks the name. Any other listener checks it only if this is set.",
  ),
  dataDir: setting("TIDEMILL_DATA_DIR", directory, path.resolve(".tidemill"), "Directory in which the embedded PostgreSQL keeps its data."),
  databaseUrl: setting("DATABASE_URL", postgresUrl, null, "URL of a PostgreSQL (15 or later) to use instead of the embedded one.", {
    secret: true,
  }),
  masterKeys: setting(
    "TIDEMILL_MASTER_KEY",
    masterKeys,
    [] as readonly string[],
    "Master key of the secrets vault: 32 bytes in base64 or hex. During a rotation, the old and the new key, separated by a comma.",
    { secret: true },
  ),
  masterKeyFile: setting(
    "TIDEMILL_MASTER_KEY_FILE",
    file,
    null,
    "File with the master key. The first start creates it. Ignored if `TIDEMILL_MASTER_KEY` is set. If empty: `master.key` in the data directory.",
  ),
  databaseConnections: setting(
    "TIDEMILL_DATABASE_CONNECTIONS",
    integer({ min: 7, max: 500 }),
    24,
    "The maximum number of database connections that a node opens.",
  ),
  statementTimeoutMs: setting(
    "TIDEMILL_STATEMENT_TIMEOUT_MS",
    integer({ min: 100, max: 60_000 }),
    10_000,
    "How long a database statement may take. Milliseconds.",
  ),
  adminToken: setting("TIDEMILL_ADMIN_TOKEN", token, null, "Bearer token of the operator API. If empty, the operator API is closed.", {
    secret: true,
  }),
  bootstrapKey: setting(
    "TIDEMILL_BOOTSTRAP_KEY",
    workspaceKey,
    null,
    "Key of the first workspace. If empty, a random key is generated. Set it on all nodes for as long as the key is used. A node without it may refuse the key.",
    { secret: true },
  ),
  trustedProxies: setting(
    "TIDEMILL_TRUSTED_PROXIES",
    addresses,
    [] as readonly string[],
    "Proxies in front of the nodes: addresses or CIDR blocks, separated by commas. The client addresses that they report in `X-Forwarded-For` are used to limit sign-in attempts.",
  ),
  smtpUrl: setting(
    "TIDEMILL_SMTP_URL",
    smtpUrl,
    null,
    "SMTP server for invitations and password resets, like `smtps://user:password@mail.example.com`. It needs `TIDEMILL_PUBLIC_URL`. If empty, no mail is sent.",
    { secret: true },
  ),
  mailFrom: setting(
    "TIDEMILL_MAIL_FROM",
    string,
    "",
    "Sender of mail, like `Tidemill <jobs@example.com>`. If empty: `tidemill@` the public URL's host.",
  ),
  signUp: setting(
    "TIDEMILL_SIGN_UP",
    oneOf(["closed", "open"]),
    "closed",
    "With `open`, anybody with a mail address may sign up and gets a workspace on the plan Free. It needs `TIDEMILL_SMTP_URL`.",
  ),
  oidcIssuer: setting("TIDEMILL_OIDC_ISSUER", httpUrl, null, "URL of an identity provider (OpenID Connect) with which people sign in."),
  oidcClientId: setting("TIDEMILL_OIDC_CLIENT_ID", string, "", "Id of this service at the identity provider."),
  oidcClientSecret: setting(
    "TIDEMILL_OIDC_CLIENT_SECRET",
    string,
    "",
    "Secret of this service at the identity provider. If empty, it is a public client.",
    { secret: true },
  ),
  oidcName: setting(
    "TIDEMILL_OIDC_NAME",
    string,
    "single sign-on",
    "What people call the identity provider. The button says `Sign in with …`.",
  ),
  oidcScopes: setting("TIDEMILL_OIDC_SCOPES", string, "openid profile email", "The scopes that are requested from the identity provider."),
  oidcGroupsClaim: setting("TIDEMILL_OIDC_GROUPS_CLAIM", string, "groups", "The claim that lists a person's groups."),
  oidcRoles: setting(
    "TIDEMILL_OIDC_ROLES",
    groupRoles,
    [] as readonly string[],
    "What groups may do: `group=ws_…:role` or `group=operator`, separated by commas. Roles: `admin`, `write`, `read`. The group `*` means everybody.",
  ),
  defaultPlan: setting("TIDEMILL_DEFAULT_PLAN", oneOf(PLAN_NAMES), "enterprise", "Plan of the first workspace."),
  env: setting(
    "TIDEMILL_ENV",
    oneOf(["development", "production"]),
    "development",
    "In `development`, callbacks may go to loopback addresses. In `production` they may not.",
  ),
  allowAddresses: setting(
    "TIDEMILL_ALLOW_ADDRESSES",
    addresses,
    [] as readonly string[],
    "Private addresses to which callbacks may go: addresses or CIDR blocks, separated by commas.",
  ),
  dnsServers: setting(
    "TIDEMILL_DNS_SERVERS",
    dnsServers,
    [] as readonly string[],
    "Name servers that resolve the hosts of callbacks: addresses, with or without ports, separated by commas. If empty, the system's.",
  ),
  drainSeconds: setting(
    "TIDEMILL_DRAIN_SECONDS",
    integer({ min: 0, max: 86_400 }),
    30,
    "How long a stopping node waits for callbacks in flight. Seconds.",
  ),
  logLevel: setting(
    "TIDEMILL_LOG_LEVEL",
    oneOf(["debug", "info", "warn", "error", "silent"]),
    "warn",
    "The lowest severity that is logged: `debug`, `info`, `warn` or `error`; `silent` logs nothing.",
  ),
  pollEveryMs: setting(
    "TIDEMILL_POLL_EVERY_MS",
    integer({ min: 50, max: 3_600_000 }),
    1_000,
    "How often to look for due jobs if no notification comes. Milliseconds.",
  ),
  nodeLeaseSeconds: setting(
    "TIDEMILL_NODE_LEASE_SECONDS",
    integer({ min: 2, max: 3_600 }),
    15,
    "A node that does not renew its lease for this long counts as dead, and other nodes take back its jobs. Seconds.",
  ),
  memoryMib: setting(
    "TIDEMILL_MEMORY_MB",
    memory,
    null,
    "How much memory the node may use, in MiB, without the embedded PostgreSQL. If empty: half of the container's or the machine's, at most 2048.",
  ),
  maxConnections: setting(
    "TIDEMILL_MAX_CONNECTIONS",
    maxConnections,
    null,
    "The maximum number of open client connections. If empty: what callbacks leave of the process's open-file limit, at most 10000.",
  ),
  callbacksInFlight: setting(
    "TIDEMILL_CALLBACKS_IN_FLIGHT",
    integer({ min: 2 }),
    4_096,
    "The maximum number of callbacks that a node has in flight. One workspace gets at most three quarters of them, one queue half.",
  ),
  enqueueBacklog: setting(
    "TIDEMILL_ENQUEUE_BACKLOG",
    integer({ min: 1_000 }),
    20_000,
    "How many jobs may wait to be written. Beyond that, enqueue responds with 503. A job counts once more for each 8 kB of its size.",
  ),
} as const satisfies Record<
  string,
  Setting<never> | Setting<number> | Setting<number | null> | Setting<string> | Setting<string | null> | Setting<readonly string[]>
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

/** Variables of the command line and of clients, which are not settings of a node. */
const OTHER_VARIABLES = new Set([
  "TIDEMILL_URL",
  "TIDEMILL_KEY",
  "TIDEMILL_PROFILE",
  "TIDEMILL_CALLBACK_SECRET",
  "TIDEMILL_ENDPOINT_SECRET",
]);

/**
 * Variables that look like settings but are unknown, each as a sentence that says so. Without a warning, a misspelt setting would silently
 * have no effect.
 */
export function describeUnknownSettings(env: Record<string, string | undefined>): string[] {
  const known = Object.values(SETTINGS).flatMap(({ names }): readonly string[] => names);
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith("TIDEMILL_") && env[name] && !known.includes(name) && !OTHER_VARIABLES.has(name),
  );
  return unknown.map((name) => {
    const meant = nearest(name, known);
    return `${name} is not a setting and has no effect.${meant === null ? "" : ` Did you mean ${meant}?`} "tidemill config" lists all settings.`;
  });
}

/** The settings as rows to print: name, value (secrets hidden), default, meaning. */
export function describeConfig(config: Config): { name: string; value: string; fallback: string; about: string }[] {
  return Object.entries(SETTINGS).map(([key, { names, fallback, about, secret }]) => {
    const value = config[key as keyof Config];
    return { name: names.join(" or "), value: secret && show(value) !== "" ? "(set)" : show(value), fallback: show(fallback), about };
  });
}

const show = (value: unknown): string => (value === null || (Array.isArray(value) && value.length === 0) ? "" : String(value));
