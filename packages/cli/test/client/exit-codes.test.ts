import { expect } from "vitest";
import { runHere } from "../run-here.ts";
import { test } from "./client.ts";

test("a queue that does not exist: code 4, and what was probably meant", async ({ command }) => {
  await command.output("queue", "create", "emails");
  expect(await command.run("queue", "get", "emials")).toEqual({
    code: 4,
    stdout: "",
    stderr: 'tidemill: There is no queue "emials". Did you mean "emails"?\n',
  });
});

test.for([
  ["profile", "use", "nope"],
  ["profile", "delete", "nope"],
  ["status", "--profile", "nope"],
])("a profile that does not exist: code 4: %j", async (args, { command }) => {
  expect(await command.run(...args)).toMatchObject({ code: 4, stdout: "", stderr: expect.stringContaining('no profile "nope"') });
});

test("a name that is taken: code 5", async ({ command, service }) => {
  expect(await command.run("queue", "create", await service.queue())).toMatchObject({ code: 5 });
});

test("a field that the service refuses: code 1, and the field", async ({ command }) => {
  const { code, stderr } = await command.run("queue", "create", "emails", "--concurrency", "0");
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^tidemill: concurrency .+\n$/) });
});

test("an unknown key: code 3", async ({ command }) => {
  expect(await command.run("queue", "list", "--key", "svc_ws_unknown")).toMatchObject({ code: 3, stdout: "" });
});

test("a service that does not respond: code 7", async ({ command }) => {
  expect(await command.run("queue", "list", "--url", "http://127.0.0.1:9")).toMatchObject({ code: 7, stdout: "" });
});

test.for([
  ["service", ["queue", "list"], "No service is given."],
  ["service, for a command that operators have too", ["schedule", "list"], "No service is given."],
  ["key", ["queue", "list", "--url", "http://127.0.0.1:9"], "No key is given for http://127.0.0.1:9."],
] as const)("no %s: code 3, and how to give one", async ([, args, says], { command }) => {
  const how = 'Run "tidemill login", or set TIDEMILL_URL and TIDEMILL_KEY, or pass --url and --key.';
  expect(await runHere(args, { XDG_CONFIG_HOME: command.directory })).toMatchObject({
    code: 3,
    stdout: "",
    stderr: `tidemill: ${says} ${how}\n`,
  });
});

test.for([
  [["quue", "list"], "Did you mean queue?"],
  [["queue", "lst"], "Did you mean list?"],
  [["queue", "list", "--jsn"], "Did you mean --json?"],
] as const)("a misspelt command or option is corrected: %j", async ([args, says], { command }) => {
  const { code, stderr } = await command.run(...args);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(says) });
});
