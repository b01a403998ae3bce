import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { PassThrough } from "node:stream";
import { expect } from "vitest";
import { runHere } from "../run-here.ts";
import { test } from "./client.ts";

const profilesIn = (directory: string): string => path.join(directory, "tidemill/profiles.json");

/** Runs a command in a terminal, in which these keys are typed when it asks for the key. */
async function runTyping(keys: string, args: readonly string[], settings: Readonly<Record<string, string>>): ReturnType<typeof runHere> {
  const { stdin } = process;
  const terminal = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  let hasAsked = false;
  const onOutput = (text: string) => {
    if (hasAsked || !text.includes("Key of the workspace:")) return;
    hasAsked = true;
    setImmediate(() => terminal.write(keys));
  };
  Object.defineProperty(process, "stdin", { value: terminal, configurable: true });
  try {
    return await runHere(args, settings, onOutput);
  } finally {
    Object.defineProperty(process, "stdin", { value: stdin, configurable: true });
  }
}

test("login asks for the key, shows nothing of it, and saves it where only its owner can read it", async ({ command, service }) => {
  const own = { XDG_CONFIG_HOME: command.directory };
  const { code, stdout, stderr } = await runTyping(`${service.key}\r`, ["login", "--url", service.node.url], own);
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
  const { code, stdout, stderr } = await runTyping(keys, ["login", "--url", service.node.url], own);
  expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
  expect(stderr).toBe("Key of the workspace: \ntidemill: Nothing was changed.\n");
  expect(existsSync(profilesIn(command.directory))).toBe(false);
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
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("No key is given for http://127.0.0.1:9") });
  expect((await runHere(["queue", "list", "--url", `${service.node.url}/`], { XDG_CONFIG_HOME: command.directory })).code).toBe(0);
});

test("a file of keys that others may read is refused", async ({ command }) => {
  await command.output("login");
  chmodSync(profilesIn(command.directory), 0o644);
  expect(await command.run("queue", "list")).toMatchObject({ code: 1, stderr: expect.stringContaining("chmod 600") });
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
    code: 1,
    stderr: expect.stringContaining("There are: staging."),
  });
});
