import { execFileSync, spawnSync } from "node:child_process";
import { globSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Runs the tests that a change touches: whatever differs from `main`, committed or not. Nearly every test goes through a whole node, so
 * imports alone would choose them all. CONTRIBUTING.md says how files are chosen.
 *
 * `--list` prints them and runs nothing. `--check` fails when a folder of the server has no tests.
 */

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCES = "packages/server/src";
const TESTS = "packages/server/test";

/** Folders of the server whose tests are not, or not only, in the folder of tests of the same name. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  engine: ["engine", "flow"],
  lanes: ["engine", "flow"],
  jobs: ["jobs", "flow"],
  http: ["http", "api"],
  outbox: ["webhooks"],
  workspaces: ["workspaces", "api"],
};

/** Names of a few tests that together go through every part of a node once. */
const SMOKE = ["access", "append-only", "batch", "decide", "delivery", "firing", "openapi"];

/** What more test files than this import is part of every test, and chooses none. */
const MAX_IMPORTERS = 10;

const git = (...args: string[]): string[] =>
  execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
    .split("\n")
    .filter((line) => line !== "");

const allTests = globSync("packages/*/test/**/*.test.ts", { cwd: ROOT }).sort();
const testsNamed = (name: string): string[] => allTests.filter((file) => path.basename(file) === `${name}.test.ts`);
const testsIn = (folder: string): string[] => allTests.filter((file) => file.startsWith(`${TESTS}/${folder}/`));

function changedFiles(): string[] {
  let base = "HEAD";
  try {
    base = git("merge-base", "HEAD", "main")[0] ?? base;
  } catch {
    // A clone without a branch of that name: what is not committed counts.
  }
  return [...git("diff", "--name-only", base), ...git("ls-files", "--others", "--exclude-standard")];
}

/** Which files of the tests import a file, by its path. */
function readImporters(): ReadonlyMap<string, readonly string[]> {
  const importers = new Map<string, string[]>();
  for (const file of globSync("packages/*/test/**/*.ts", { cwd: ROOT })) {
    for (const [, target = ""] of readFileSync(path.join(ROOT, file), "utf8").matchAll(/ from "(\.[^"]+)"/g)) {
      const imported = path.join(path.dirname(file), target);
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
    }
  }
  return importers;
}

/** The test files that import a file, itself or through other files of the tests; none when they are too many. */
function testsThatImport(file: string, importers: ReadonlyMap<string, readonly string[]>): string[] {
  const reached = new Set([file]);
  for (const one of reached) for (const importer of importers.get(one) ?? []) reached.add(importer);
  const tests = [...reached].filter((one) => one.endsWith(".test.ts"));
  return tests.length > MAX_IMPORTERS ? [] : tests;
}

/** Folders of the command whose tests are in another folder. */
const CLI_FOLDERS: Readonly<Record<string, string>> = { bulk: "client", output: "client", profile: "client", prompt: "client" };

function testsOfSource(file: string): string[] {
  const [, where = "", name = ""] = /^packages\/(cli|contract|sdk|server)\/src\/([^/.]+)/.exec(file) ?? [];
  if (where === "cli") {
    const own = `packages/cli/test/${name}.test.ts`;
    const inFolder = allTests.filter((file) => file.startsWith(`packages/cli/test/${CLI_FOLDERS[name] ?? name}/`));
    if (inFolder.length > 0) return inFolder;
    return [allTests.includes(own) ? own : "packages/cli/test/commands.test.ts"];
  }
  if (where === "sdk") return allTests.filter((test) => /^packages\/sdk\/test\/(?!faults\/)/.test(test));
  if (where === "contract") return [name, "api"].flatMap(testsIn);
  return (FOLDERS[name] ?? [name]).flatMap(testsIn);
}

function choose(changed: readonly string[]): string[] {
  const importers = readImporters();
  const chosen = changed.flatMap((file) => [file, ...testsOfSource(file), ...testsThatImport(file, importers)]);
  if (changed.some((file) => /^packages\/.*\.(ts|sql)$/.test(file))) chosen.push(...SMOKE.flatMap(testsNamed));
  return allTests.filter((file) => chosen.includes(file));
}

function check(): string[] {
  const folders = readdirSync(path.join(ROOT, SOURCES), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const untested = folders.filter(({ name }) => (FOLDERS[name] ?? [name]).some((folder) => testsIn(folder).length === 0));
  const absent = SMOKE.filter((name) => testsNamed(name).length === 0);
  return [
    ...untested.map(({ name }) => `scripts/test-changed.ts: ${SOURCES}/${name} has no folder of tests. Name one in FOLDERS.`),
    ...absent.map((name) => `scripts/test-changed.ts: There is no ${name}.test.ts. Name another in SMOKE.`),
  ];
}

if (process.argv.includes("--check")) {
  const wrong = check();
  for (const line of wrong) process.stderr.write(`${line}\n`);
  process.exitCode = wrong.length > 0 ? 1 : 0;
} else {
  const files = choose(changedFiles());
  process.stdout.write(
    `${files.length} of ${allTests.length} test files${process.argv.includes("--list") ? `:\n${files.join("\n")}` : ""}\n`,
  );
  if (files.length > 0 && !process.argv.includes("--list")) {
    const vitest = ["--conditions=source", "node_modules/vitest/vitest.mjs", "run", ...files];
    process.exitCode = spawnSync(process.execPath, vitest, { cwd: ROOT, stdio: "inherit" }).status ?? 1;
  }
}
