import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { test } from "../../server/test/harness/stage.ts";

const at = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** The client's tests run on it. */
const NODE_20 = at("../../sdk/node_modules/node/bin/node");

test("an older Node is told in one line which one is needed", async ({ stage }) => {
  const command = path.join(stage.directory(), "tidemill.mjs");
  writeFileSync(command, stripTypeScriptTypes(readFileSync(at("../src/tidemill.ts"), "utf8")));
  const written = await new Promise((resolve) => {
    execFile(NODE_20, [command, "queue", "list"], (error, stdout, stderr) => resolve({ code: error?.code, stdout, stderr }));
  });
  expect(written).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^tidemill: Node 24 or later is needed, and this is v20\..+\n$/),
  });
});

test.for(["cli", "server"])("the package %s needs the Node that the command asks for", (name) => {
  const { engines } = JSON.parse(readFileSync(at(`../../${name}/package.json`), "utf8")) as { engines: { node: string } };
  expect(engines).toEqual({ node: ">=24" });
});
