import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PassThrough, Readable } from "node:stream";
import { describe, expect } from "vitest";
import { type ConnectionOptions, chooseService } from "../../src/profile/choose.ts";
import { runHere } from "../run-here.ts";
import { test } from "./client.ts";

const profilesIn = (directory: string): string => path.join(directory, "tidemill/profiles.json");

/** Runs a command in a terminal, in which these replies are typed when it asks these questions. Null ends the input. */
async function runTyping(
  replies: Readonly<Record<string, string | null>>,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): ReturnType<typeof runHere> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const open = new Map(Object.entries(replies));
  const onOutput = (text: string) => {
    for (const [question, reply] of open) {
      if (!text.includes(question)) continue;
      open.delete(question);
      setImmediate(() => (reply === null ? stdin.end() : stdin.write(reply)));
    }
  };
  return runHere(args, settings, { stdin, onOutput });
}

test("login asks for the key, shows nothing of it, and saves it where only its owner can read it", async ({ command, service }) => {
  const own = { XDG_CONFIG_HOME: command.directory };
  const { code, stdout, stderr } = await runTyping(
    { "Key of the workspace:": `${service.key}\r` },
    ["login", "--url", service.node.url],
    own,
  );
  expect({ code, asked: stderr.includes("Key of the workspace:") }).toEqual({ code: 0, asked: true });
  // Not even as it grows.
  expect(stdout + stderr).not.toContain(service.key.slice(-8));
  expect(readFileSync(profilesIn(command.directory), "utf8")).toContain(service.key);
  expect(statSync(profilesIn(command.directory)).mode & 0o777).toBe(0o600);
  expect(statSync(path.dirname(profilesIn(command.directory))).mode & 0o777).toBe(0o700);
});

test.for([
  ["Ctrl-C", "svc_ws_unfinished\u0003"],
  ["Ctrl-D", "\u0004"],
] as const)("%s at the question for the key ends with code 130, and saves nothing", async ([, keys], { command, service }) => {
  const own = { XDG_CONFIG_HOME: command.directory };
  const { code, stdout, stderr } = await runTyping({ "Key of the workspace:": keys }, ["login", "--url", service.node.url], own);
  expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
  expect(stderr).toBe("Key of the workspace: \ntidemill: Nothing was changed.\n");
  expect(existsSync(profilesIn(command.directory))).toBe(false);
});

test("a name that no secret can have is refused before its value is asked for", async ({ command }) => {
  for (const args of [
    ["create", "bad-name"],
    ["update", "bad-name", "--value"],
  ]) {
    const { code, stderr } = await runTyping({}, ["secret", ...args], command.environment);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^tidemill: "bad-name" cannot be the name of a secret\./) });
  }
});

test("Ctrl-C and Ctrl-D at the question before a deletion end with code 130", async ({ command, service }) => {
  const queue = await service.queue();
  const { code, stderr } = await runTyping({ Delete: null }, ["queue", "delete", queue], command.environment);
  expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringMatching(/\ntidemill: Nothing was changed\.\n$/) });
  await command.output("queue", "get", queue);
});

test("after login, commands need neither URL nor key, and only the owner can read the file", async ({ command, service }) => {
  await service.queue();
  const own = { XDG_CONFIG_HOME: command.directory };
  const login = await runHere(["login", "--url", service.node.url, "--key", service.key], own);
  expect(login.code).toBe(0);
  expect(statSync(profilesIn(command.directory)).mode & 0o777).toBe(0o600);
  expect(JSON.parse((await runHere(["queue", "list", "--json"], own)).stdout)).toHaveLength(1);
  expect((await runHere(["profile", "list"], own)).stdout).not.toContain(service.key);
});

test("a key that the service does not know is not saved", async ({ command }) => {
  expect(await command.run("login", "--key", "svc_ws_unknown")).toMatchObject({ code: 3 });
  expect(await command.json("profile", "list")).toEqual([]);
});

test("a key is not sent to another service than its profile's", async ({ command, service }) => {
  await command.output("login");
  const { code, stderr } = await runHere(["queue", "list", "--url", "http://127.0.0.1:9"], { XDG_CONFIG_HOME: command.directory });
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("No key is given for http://127.0.0.1:9") });
  expect((await runHere(["queue", "list", "--url", `${service.node.url}/`], { XDG_CONFIG_HOME: command.directory })).code).toBe(0);
});

test("a file of keys that others may read is refused", async ({ command }) => {
  await command.output("login");
  chmodSync(profilesIn(command.directory), 0o644);
  const { code, stderr } = await command.run("queue", "list", "--profile", "default");
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("chmod 600") });
});

test("a profile is chosen by name, and forgotten", async ({ command }) => {
  await command.output("login", "--profile", "staging");
  await command.output("login", "--profile", "production");
  await command.output("profile", "use", "staging");
  expect(await command.json("profile", "list")).toMatchObject([
    { name: "staging", default: true },
    { name: "production", default: false },
  ]);
  await command.output("queue", "list", "--profile", "production");
  await command.output("profile", "delete", "production");
  expect(await command.run("queue", "list", "--profile", "production")).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("There are: staging."),
  });
});

test("login takes a key that is typed before TIDEMILL_KEY, and a URL before TIDEMILL_URL", async ({ command, service }) => {
  const settings = { TIDEMILL_URL: "http://127.0.0.1:9", TIDEMILL_KEY: "svc_ws_other", XDG_CONFIG_HOME: command.directory };
  const replies = { "Address of the service:": `${service.node.url}\r`, "Key of the workspace (TIDEMILL_KEY):": `${service.key}\r` };
  expect(await runTyping(replies, ["login"], settings)).toMatchObject({ code: 0 });
  expect(readFileSync(profilesIn(command.directory), "utf8")).toContain(service.key);
});

test("login takes a key of the standard input before TIDEMILL_KEY", async ({ command, service }) => {
  const settings = { TIDEMILL_URL: service.node.url, TIDEMILL_KEY: "svc_ws_other", XDG_CONFIG_HOME: command.directory };
  expect(await runHere(["login"], settings, { stdin: Readable.from([`${service.key}\n`]) })).toMatchObject({ code: 0 });
  expect(readFileSync(profilesIn(command.directory), "utf8")).toContain(service.key);
});

test("login takes an option before the standard input and the environment, and the name of TIDEMILL_PROFILE", async ({
  command,
  service,
}) => {
  const settings = {
    TIDEMILL_URL: "http://127.0.0.1:9",
    TIDEMILL_KEY: "svc_ws_other",
    TIDEMILL_PROFILE: "staging",
    XDG_CONFIG_HOME: command.directory,
  };
  const login = ["login", "--url", service.node.url, "--key", service.key];
  expect(await runHere(login, settings, { stdin: Readable.from(["svc_ws_third\n"]) })).toMatchObject({ code: 0 });
  expect(await command.json("profile", "list")).toMatchObject([{ name: "staging", url: service.node.url }]);
});

describe("a damaged file of profiles", () => {
  const damaged = '{"default":"a","profiles":{"a":{"url":"http://127.0.0.1:9","key":"svc_ws_a"}';
  const damage = (directory: string) => {
    mkdirSync(path.dirname(profilesIn(directory)), { recursive: true });
    writeFileSync(profilesIn(directory), damaged, { mode: 0o600 });
  };

  test("breaks no command that is given its service and key", async ({ command, service }) => {
    damage(command.directory);
    await command.output("queue", "list");
    const given = ["queue", "list", "--url", service.node.url, "--key", service.key];
    expect(await runHere(given, { XDG_CONFIG_HOME: command.directory })).toMatchObject({ code: 0 });
    expect(await runHere(["queue", "list", "--help"], { XDG_CONFIG_HOME: command.directory })).toMatchObject({ code: 0 });
    expect(await runHere(["config"], { XDG_CONFIG_HOME: command.directory })).toMatchObject({ code: 0 });
  });

  test.for([["queue", "list"], ["queue", "list", "--profile", "a"], ["profile", "list"], ["login"]])(
    "is named by %j, with what to do, and is left as it is",
    async (args, { command, service }) => {
      damage(command.directory);
      const settings = { XDG_CONFIG_HOME: command.directory, ...(args[0] === "login" && { TIDEMILL_URL: service.node.url }) };
      const { code, stderr } = await runHere(args, settings, { stdin: Readable.from([service.key]) });
      const file = profilesIn(command.directory);
      const says = `${file} is damaged: it does not contain profiles. Repair it, or move it away and run "tidemill login" again.`;
      expect({ code, stderr }).toEqual({ code: 1, stderr: `tidemill: ${says}\n` });
      expect(readFileSync(file, "utf8")).toBe(damaged);
    },
  );
});

describe("the service of a command", () => {
  const profiles = {
    default: "usual",
    profiles: { usual: { url: "https://usual.example", key: "k1" }, other: { url: "https://other.example", key: "k2" } },
  };
  const choose = (options: ConnectionOptions, environment: Record<string, string> = {}) =>
    chooseService(options, environment, () => profiles);

  test.for<[string, ConnectionOptions, Record<string, string>, string, string]>([
    ["the default profile", {}, {}, "https://usual.example", "k1"],
    ["TIDEMILL_PROFILE before it", {}, { TIDEMILL_PROFILE: "other" }, "https://other.example", "k2"],
    ["--profile before TIDEMILL_PROFILE", { profile: "usual" }, { TIDEMILL_PROFILE: "other" }, "https://usual.example", "k1"],
    [
      "--profile before TIDEMILL_URL",
      { profile: "other" },
      { TIDEMILL_URL: "https://e", TIDEMILL_KEY: "e" },
      "https://other.example",
      "k2",
    ],
    ["TIDEMILL_URL before a profile", {}, { TIDEMILL_URL: "https://e", TIDEMILL_KEY: "e", TIDEMILL_PROFILE: "other" }, "https://e", "e"],
    ["options before TIDEMILL_URL", { url: "https://o", key: "o" }, { TIDEMILL_URL: "https://e", TIDEMILL_KEY: "e" }, "https://o", "o"],
    ["an empty variable is none", {}, { TIDEMILL_URL: "", TIDEMILL_KEY: "" }, "https://usual.example", "k1"],
    ["the key of the same service", { url: "https://USUAL.example:443/" }, {}, "https://USUAL.example:443/", "k1"],
  ])("is that of %s", ([, options, environment, url, key]) => {
    expect(choose(options, environment)).toEqual({ url, key });
  });
});
