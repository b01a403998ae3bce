import { chmodSync, statSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { runHere } from "../run-here.ts";
import { test } from "./client.ts";

test("after login, commands need neither URL nor key, and only the owner can read the file", async ({ command, service }) => {
  await service.queue();
  const own = { XDG_CONFIG_HOME: command.directory };
  const login = await runHere(["login", "--url", service.node.url, "--key", service.key], own);
  expect(login.code).toBe(0);
  expect(statSync(path.join(command.directory, "tidemill/profiles.json")).mode & 0o777).toBe(0o600);
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
  chmodSync(path.join(command.directory, "tidemill/profiles.json"), 0o644);
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
