import { describe, expect, test } from "vitest";
import { ConfigError, describeConfig, describeUnknownSettings, readConfig, SETTINGS } from "#kernel";
import { createAddressGuard } from "#outbound";

const refusal = (env: Record<string, string>): unknown => {
  try {
    return readConfig(env);
  } catch (error) {
    return error;
  }
};

describe("a configuration that is given nothing", () => {
  test("a configuration that is given nothing has every setting's default", () => {
    const config = readConfig({});
    for (const [name, { fallback }] of Object.entries(SETTINGS)) expect(config[name as keyof typeof config]).toEqual(fallback);
  });

  test("a configuration takes an empty variable for one that is not given", () => {
    const env = Object.fromEntries(Object.values(SETTINGS).flatMap(({ names }) => names.map((name) => [name, ""])));
    expect(readConfig(env)).toEqual(readConfig({}));
  });
});

describe("a configuration", () => {
  test("a configuration reads every setting from its variable", () => {
    const config = readConfig({
      TIDEMILL_PORT: "0",
      TIDEMILL_HOST: "0.0.0.0",
      DATABASE_URL: "postgres://u:p@host:5432/db",
      TIDEMILL_ENV: "production",
      TIDEMILL_ALLOW_ADDRESSES: " 10.0.0.0/8, ::1 ,",
      TIDEMILL_DRAIN_SECONDS: "0",
      TIDEMILL_DEFAULT_PLAN: "free",
      TIDEMILL_DATA_DIR: "/data/./x",
    });
    expect(config).toMatchObject({
      port: 0,
      host: "0.0.0.0",
      databaseUrl: "postgres://u:p@host:5432/db",
      env: "production",
      allowAddresses: ["10.0.0.0/8", "::1"],
      drainSeconds: 0,
      defaultPlan: "free",
      dataDir: "/data/x",
    });
  });

  test("a configuration takes PORT where TIDEMILL_PORT is not given", () => {
    expect(readConfig({ PORT: "9000" }).port).toBe(9000);
    expect(readConfig({ PORT: "9000", TIDEMILL_PORT: "" }).port).toBe(9000);
    expect(readConfig({ PORT: "9000", TIDEMILL_PORT: "9001" }).port).toBe(9001);
  });
});

describe("a wrong value is refused in one clear line", () => {
  const refused: [variable: string, value: string, message: string][] = [
    ["TIDEMILL_PORT", "http", "must be a whole number from 0 to 65535"],
    ["TIDEMILL_PORT", "65536", "must be a whole number from 0 to 65535"],
    ["TIDEMILL_PORT", "-1", "must be a whole number from 0 to 65535"],
    ["TIDEMILL_PORT", "80.5", "must be a whole number from 0 to 65535"],
    ["TIDEMILL_PORT", "1e3", "must be a whole number from 0 to 65535"],
    ["TIDEMILL_PORT", " 80", "must be a whole number from 0 to 65535"],
    ["PORT", "web", "must be a whole number from 0 to 65535"],
    ["TIDEMILL_INTERNAL_PORT", "99999", "must be a whole number from 0 to 65535"],
    ["DATABASE_URL", "mysql://localhost/db", "must be a postgres:// URL"],
    ["DATABASE_URL", "localhost:5432", "must be a postgres:// URL"],
    ["DATABASE_URL", "postgres://[", "must be a valid postgres:// URL"],
    [
      "DATABASE_URL",
      "postgres://user:pass#word@localhost/db",
      "must be a valid postgres:// URL; in a user name or a password, write # as %23",
    ],
    ["DATABASE_URL", "postgres://user:1#2@localhost/db", "must be a valid postgres:// URL; in a user name or a password, write # as %23"],
    ["TIDEMILL_DATABASE_CONNECTIONS", "6", "must be a whole number from 7 to 500"],
    ["TIDEMILL_STATEMENT_TIMEOUT_MS", "0", "must be a whole number from 100 to"],
    ["TIDEMILL_ADMIN_TOKEN", "short", "must have at least 16 characters, all printable ASCII and no spaces"],
    ["TIDEMILL_ADMIN_TOKEN", "0123456789abcdef ", "must have at least 16 characters, all printable ASCII and no spaces"],
    ["TIDEMILL_BOOTSTRAP_KEY", "svc_ws_short", "must be svc_ws_ followed by 16 to 128 letters, digits, _ or -"],
    ["TIDEMILL_BOOTSTRAP_KEY", "sk_live_0123456789abcdef", "must be svc_ws_ followed by 16 to 128 letters, digits, _ or -"],
    ["TIDEMILL_DEFAULT_PLAN", "gold", "must be one of free, pro, team, enterprise"],
    ["TIDEMILL_ENV", "prod", "must be one of development, production"],
    ["TIDEMILL_ALLOW_ADDRESSES", "localhost", 'must be IP addresses or CIDR blocks, separated by commas; "localhost" is neither'],
    [
      "TIDEMILL_ALLOW_ADDRESSES",
      "10.0.0.0/8,10.0.0.0/33",
      'must be IP addresses or CIDR blocks, separated by commas; "10.0.0.0/33" is neither',
    ],
    ["TIDEMILL_DNS_SERVERS", "dns.example", 'must be IP addresses, with or without ports, separated by commas; "dns.example" is not one'],
    ["TIDEMILL_DNS_SERVERS", "10.0.0.2,10.0.0.2:0", "must be IP addresses, with or without ports"],
    ["TIDEMILL_DNS_SERVERS", "fd00::2:99999", "must be IP addresses, with or without ports"],
    ["TIDEMILL_DRAIN_SECONDS", "soon", "must be a whole number from 0 to"],
    ["TIDEMILL_LOG_LEVEL", "loud", "must be one of debug, info, warn, error, silent"],
    ["TIDEMILL_POLL_EVERY_MS", "10", "must be a whole number from 50 to"],
    ["TIDEMILL_NODE_LEASE_SECONDS", "1", "must be a whole number from 2 to"],
    ["TIDEMILL_CALLBACKS_IN_FLIGHT", "1", "must be a whole number from 2 to"],
    ["TIDEMILL_ENQUEUE_BACKLOG", "10", "must be a whole number from 1000 to"],
  ];

  test.each(refused)("a wrong value is refused in one clear line: %s=%s", (variable, value, message) => {
    const error = refusal({ [variable]: value }) as Error;
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.message.startsWith(`${variable} ${message}`)).toBe(true);
    expect(error.message).toMatch(/^[^\n]+\.$/);
  });

  test("name servers have a port or none", () => {
    const servers = ["10.0.0.2", "10.0.0.2:5353", "fd00::2", "[fd00::2]:53"];
    expect(readConfig({ TIDEMILL_DNS_SERVERS: servers.join(", ") }).dnsServers).toEqual(servers);
  });

  test("a wrong value is refused in one clear line that does not repeat a secret", () => {
    const secrets = { DATABASE_URL: "mysql://u:hunter2@h/db", TIDEMILL_ADMIN_TOKEN: "hunter2", TIDEMILL_BOOTSTRAP_KEY: "svc_ws_hunter2" };
    for (const [variable, value] of Object.entries(secrets))
      expect((refusal({ [variable]: value }) as Error).message).not.toContain("hunter2");
  });

  test.each(["10.0.0.0/8/8", "fe80::1%eth0", "10.0.0.0/0008", "10.0.0.0/", "1.2.3", "::/129", "10.0.0.0/8;::1", "10.0.0.0/+8"])(
    "a list of addresses that the address guard would refuse is refused: %s",
    (list) => {
      expect(() => createAddressGuard({ allowLoopback: false, allowed: [list] })).toThrow();
      expect(refusal({ TIDEMILL_ALLOW_ADDRESSES: list })).toBeInstanceOf(ConfigError);
    },
  );
});

describe("what is shown of a configuration", () => {
  test("a configuration names every variable with its value, default and meaning", () => {
    const rows = describeConfig(readConfig({ TIDEMILL_PORT: "9001" }));
    expect(rows).toHaveLength(Object.keys(SETTINGS).length);
    expect(rows[0]).toEqual({
      name: "TIDEMILL_PORT or PORT",
      value: "9001",
      fallback: "8080",
      about: "Port of the API. 0 chooses a free port.",
    });
    for (const { about } of rows) expect(about).toMatch(/\.$/);
  });

  test("what is shown of a configuration hides secrets", () => {
    const env = {
      DATABASE_URL: "postgres://u:hunter2@h/db",
      TIDEMILL_ADMIN_TOKEN: "hunter2hunter2hunter2",
      TIDEMILL_BOOTSTRAP_KEY: "svc_ws_hunter2hunter2hunter2",
    };
    const rows = describeConfig(readConfig(env));
    expect(JSON.stringify(rows)).not.toContain("hunter2");
    expect(rows.filter(({ value }) => value === "(set)")).toHaveLength(3);
  });

  test("what is shown of a configuration finds variables that are misspelt, and no others", () => {
    expect(
      describeUnknownSettings({
        TIDEMILL_PROT: "1",
        TIDEMILL_PORT: "1",
        PATH: "/bin",
        TIDEMILL_KEY: "k",
        TIDEMILL_URL: "u",
        TIDEMILL_PROFILE: "p",
        TIDEMILL_CALLBACK_SECRET: "c",
        TIDEMILL_ENDPOINT_SECRET: "e",
        TIDEMILL_SERVICE_ACCOUNT: "s",
      }),
    ).toEqual([
      'TIDEMILL_PROT is not a setting and has no effect. Did you mean TIDEMILL_PORT? "tidemill config" lists all settings.',
      'TIDEMILL_SERVICE_ACCOUNT is not a setting and has no effect. "tidemill config" lists all settings.',
    ]);
  });
});
