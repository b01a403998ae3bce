import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

test.for([
  ["Workflows", "Welcome, Ada 86400000\n"],
  ["Invoke another workflow", "run_test_1 has charged 500 cents.\n"],
] as const)("the code of docs/workflows.md runs: %s", async ([heading, printed], { onTestFinished }) => {
  const page = readFileSync(new URL("../../../../docs/workflows.md", import.meta.url), "utf8");
  const section = page.slice(page.search(new RegExp(`^#+ ${heading}$`, "m")));
  const [, code = ""] = /^```ts\n([\s\S]*?)^```/m.exec(section) ?? [];
  // Beside the package's own files, where its dependencies are found.
  const file = `${PACKAGE}/workflows-${process.pid}-${heading.length}.ts`;
  onTestFinished(() => rmSync(file, { force: true }));
  writeFileSync(file, code);
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=source", file]);
  expect(stdout).toBe(printed);
});
