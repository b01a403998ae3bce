import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { FOLDERS, IMPORT_ORDER, importableFrom } from "./import-order.ts";
import { DEPTH } from "./import-rules.ts";

/**
 * Proves that biome.json and the generated import rules work. It writes code that breaks each rule, and code that keeps it, to a
 * temporary tree with the same folders. Then it compares Biome's report with the expected one, line by line.
 */

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SERVER = "packages/server/src";

const IMPORTS = "lint/style/noRestrictedImports";
const GLOBALS = "lint/style/noRestrictedGlobals";
const PROPERTIES = "lint/nursery/noJsRestrictedProperties";
const ENV = "lint/style/noProcessEnv";
const CYCLES = "lint/suspicious/noImportCycles";
const FLOATING = "lint/nursery/noFloatingPromises";

/** One line of code in a file, and the rule that must refuse it. Null means that every rule must accept it. */
interface Case {
  readonly file: string;
  readonly code: string;
  readonly refusedBy: string | null;
}

const refused = (refusedBy: string, file: string, ...lines: string[]): Case[] => lines.map((code) => ({ file, code, refusedBy }));
const accepted = (file: string, ...lines: string[]): Case[] => lines.map((code) => ({ file, code, refusedBy: null }));

const order = IMPORT_ORDER.flatMap((row, at) =>
  row.flatMap((folder) => {
    const importable = importableFrom(at);
    const file = `${SERVER}/${folder}/verb.ts`;
    return [
      ...accepted(file, ...importable.map((other) => `export * from "#${other}";`)),
      ...refused(IMPORTS, file, ...FOLDERS.filter((other) => !importable.includes(other)).map((other) => `export * from "#${other}";`)),
    ];
  }),
);

const CASES: Case[] = [
  ...order,
  // Every form of import.
  ...refused(
    IMPORTS,
    `${SERVER}/http/forms.ts`,
    'import "#jobs";',
    'import { enqueue } from "#jobs";',
    'import type { JobRow } from "#jobs";',
    'export { retryJob } from "#jobs";',
    'export const jobs = await import("#jobs");',
  ),
  ...refused("plugin", `${SERVER}/http/types.ts`, 'export type Row = import("#jobs").JobRow;'),
  // The same from inner folders.
  ...order.map(({ file, ...rest }) => ({ file: file.replace("/verb.ts", "/store/verb.ts"), ...rest })),
  // Other folders are imported by their index only.
  ...FOLDERS.flatMap((folder) => [
    ...refused(IMPORTS, `${SERVER}/${folder}/inside.ts`, 'export * from "../status/read.ts";', 'export * from "./../main.ts";'),
    ...refused(IMPORTS, `${SERVER}/${folder}/store/inside.ts`, 'export * from "../../status/read.ts";', 'export * from "./../../main.ts";'),
    ...refused(IMPORTS, `${SERVER}/${folder}/a/b/inside.ts`, 'export * from "../../../status/read.ts";', 'export * from "#main";'),
    ...accepted(
      `${SERVER}/${folder}/own.ts`,
      'export * from "./cancel.ts";',
      'export * from "./store/insert.ts";',
      'export { Pool } from "pg";',
    ),
    ...accepted(`${SERVER}/${folder}/store/own.ts`, 'export * from "./insert.ts";', 'export * from "../cancel.ts";'),
    ...accepted(`${SERVER}/${folder}/a/b/own.ts`, 'export * from "../insert.ts";', 'export * from "../../cancel.ts";'),
  ]),
  ...refused(IMPORTS, `${SERVER}/jobs/inside.ts`, 'export * from "#queues/create.ts";', 'export * from "#kernel/ids.ts";'),
  // The composition root.
  ...["main", "app", "databases"].flatMap((name) => [
    ...accepted(`${SERVER}/${name}.ts`, 'export * from "#jobs";', 'export * from "./background.ts";'),
    ...refused(IMPORTS, `${SERVER}/${name}.ts`, 'export * from "./jobs/index.ts";', 'export * from "../test/harness/service.ts";'),
  ]),
  ...accepted(`${SERVER}/databases.ts`, 'export const embedded = await import("./kernel/database/embedded/index.ts");'),
  // Packages.
  ...accepted("packages/contract/src/case.ts", 'export * from "./errors.ts";', 'export { Type } from "typebox";'),
  ...refused(
    IMPORTS,
    "packages/contract/src/case.ts",
    'export * from "@tidemill/server";',
    'export * from "tidemill";',
    'export * from "#kernel";',
    'export * from "../../server/src/index.ts";',
    'export { createHmac } from "node:crypto";',
  ),
  ...refused("lint/correctness/noNodejsModules", "packages/contract/src/bare.ts", 'export { createHmac } from "crypto";'),
  ...accepted(`${SERVER}/jobs/packages.ts`, 'export * from "@tidemill/contract";'),
  ...refused(IMPORTS, `${SERVER}/jobs/packages.ts`, 'export * from "@tidemill/server";', 'export * from "tidemill";'),
  ...accepted(
    "packages/cli/src/case.ts",
    'export * from "@tidemill/server";',
    'export * from "@tidemill/contract";',
    'export * from "@tidemill/sdk";',
    'export * from "./fail.ts";',
  ),
  ...refused(IMPORTS, "packages/cli/src/case.ts", 'export * from "#kernel";', 'export * from "../../server/src/index.ts";'),
  ...accepted("packages/cli/src/client/case.ts", 'export * from "@tidemill/sdk";', 'export * from "../output/table.ts";'),
  ...refused(
    IMPORTS,
    "packages/cli/src/client/case.ts",
    'export * from "@tidemill/server";',
    'export * from "../../../server/src/index.ts";',
  ),
  ...accepted(
    "packages/sdk/src/enqueue/case.ts",
    'export type { Job } from "@tidemill/contract";',
    'export { MAX_JOURNAL } from "@tidemill/contract/journal";',
    'export { LIMITS } from "@tidemill/contract/limits";',
    'export { SIGNATURE_VERSION } from "@tidemill/contract/signing";',
    'export { isWorkflowCheck } from "@tidemill/contract/workflow-check";',
    'export * from "./batcher.ts";',
    'export * from "../queue.ts";',
  ),
  ...refused(
    IMPORTS,
    "packages/sdk/src/case.ts",
    'export * from "@tidemill/server";',
    'export * from "tidemill";',
    'export * from "#kernel";',
    'export * from "../../server/src/index.ts";',
    'export * from "../../contract/src/signing.ts";',
    'export { createHmac } from "node:crypto";',
  ),
  ...refused("lint/correctness/noNodejsModules", "packages/sdk/src/bare.ts", 'export { createHmac } from "crypto";'),
  // Time, chance, settings.
  ...["packages/contract/src", "packages/sdk/src", `${SERVER}/jobs`, `${SERVER}/kernel`, "packages/cli/src"].flatMap((folder) => [
    ...refused(
      GLOBALS,
      `${folder}/time.ts`,
      "export const now = Date.now();",
      "export const today = new Date();",
      'export const then = Date.parse("2026-11-21");',
    ),
    ...refused(PROPERTIES, `${folder}/chance.ts`, "export const chance = Math.random();", "export const { random } = Math;"),
    ...refused(PROPERTIES, `${folder}/global.ts`, "export const global = globalThis.Date.now();"),
  ]),
  ...accepted("packages/sdk/src/clock.ts", "export const now = Date.now();"),
  ...refused(PROPERTIES, "packages/sdk/src/clock.ts", "export const chance = Math.random();"),
  ...accepted(`${SERVER}/kernel/clock.ts`, "export const now = Date.now();"),
  ...accepted(`${SERVER}/kernel/random.ts`, "export const chance = Math.random();"),
  ...refused(GLOBALS, `${SERVER}/kernel/random.ts`, "export const now = Date.now();"),
  ...["packages/contract/src", "packages/sdk/src", `${SERVER}/kernel`].flatMap((folder) =>
    refused(ENV, `${folder}/env.ts`, "export const home = process.env.HOME;"),
  ),
  ...accepted("packages/cli/src/env.ts", "export const home = process.env.HOME;"),
  // The rule for floating promises sees the types of other folders.
  ...accepted(`${SERVER}/kernel/index.ts`, "export const work = async () => {};"),
  ...refused(FLOATING, `${SERVER}/jobs/start.ts`, 'import { work } from "#kernel"; export const start = () => { work(); };'),
  // Rules for every folder.
  ...[`${SERVER}/jobs`, "packages/cli/src", "scripts", "demo"].flatMap((folder) => [
    ...refused("lint/suspicious/noConsole", `${folder}/print.ts`, 'console.log("hello");'),
    ...refused("lint/correctness/noUnusedImports", `${folder}/unused.ts`, 'import path from "node:path";'),
    ...refused("lint/style/useImportType", `${folder}/types.ts`, 'import { Stats } from "node:fs"; export type S = Stats;'),
    ...refused(FLOATING, `${folder}/floating.ts`, "const work = async () => {}; export const start = () => { work(); };"),
    ...refused(CYCLES, `${folder}/cycle.ts`, 'import { b } from "./elcyc.ts"; export const a = () => b;'),
    ...refused(CYCLES, `${folder}/elcyc.ts`, 'import { a } from "./cycle.ts"; export const b = () => a;'),
    ...refused(CYCLES, `${folder}/type-cycle.ts`, 'import type { B } from "./elcyc-epyt.ts"; export type A = B[];'),
    ...refused(CYCLES, `${folder}/elcyc-epyt.ts`, 'import type { A } from "./type-cycle.ts"; export type B = A | null;'),
  ]),
];

/** Files that Biome reads: its configuration, and the packages' settings. */
const CONFIGURATION = [
  "biome.json",
  "lint",
  ".gitignore",
  "tsconfig.json",
  "packages/server/package.json",
  "packages/server/tsconfig.json",
];

interface Diagnostic {
  readonly category: string;
  readonly location: { readonly path: string; readonly start: { readonly line: number } };
}

/** Runs Biome on the cases. Returns the rules that refuse each line, by `file:line`. */
async function lint(): Promise<Map<string, string[]>> {
  const tree = await mkdtemp(path.join(tmpdir(), "tidemill-rules-"));
  try {
    for (const name of CONFIGURATION) await cp(path.join(ROOT, name), path.join(tree, name), { recursive: true });
    for (const [file, cases] of Map.groupBy(CASES, ({ file }) => file)) {
      await mkdir(path.dirname(path.join(tree, file)), { recursive: true });
      await writeFile(path.join(tree, file), `${cases.map(({ code }) => code).join("\n")}\n`);
    }
    const biome = path.join(ROOT, "node_modules/@biomejs/biome/bin/biome");
    const report = await new Promise<string>((resolve, reject) => {
      const options = ["lint", "--reporter=json", "--max-diagnostics=none"];
      // The exit code is 1 because there are findings.
      execFile(process.execPath, [biome, ...options], { cwd: tree, maxBuffer: 64 * 1024 * 1024 }, (_error, stdout, stderr) =>
        stdout === "" ? reject(new Error(`Biome did not run: ${stderr}`)) : resolve(stdout),
      );
    });
    const { diagnostics } = JSON.parse(report) as { diagnostics: Diagnostic[] };
    const byLine = Map.groupBy(diagnostics, ({ location }) => `${location.path}:${location.start.line}`);
    return new Map([...byLine].map(([at, found]) => [at, found.map(({ category }) => category)]));
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

// A cycle is reported at lines that are correct by themselves, so that it does not count against accepted lines.
const RULES = new Set(CASES.map(({ refusedBy }) => refusedBy).filter((rule) => rule !== CYCLES));
const reported = await lint();
const wrong: string[] = [];
for (const [file, cases] of Map.groupBy(CASES, ({ file }) => file)) {
  for (const [index, { code, refusedBy }] of cases.entries()) {
    const found = reported.get(`${file}:${index + 1}`) ?? [];
    const refusals = found.filter((category) => RULES.has(category));
    if (refusedBy === null && refusals.length > 0) wrong.push(`${refusals.join(", ")} must accept in ${file}: ${code}`);
    if (refusedBy !== null && !found.includes(refusedBy)) wrong.push(`${refusedBy} must refuse in ${file}: ${code}`);
  }
}

const sources = await readdir(path.join(ROOT, SERVER), { withFileTypes: true, recursive: true });
for (const { name, parentPath } of sources.filter((entry) => entry.isDirectory())) {
  const [folder = "", ...inner] = path.relative(path.join(ROOT, SERVER), path.join(parentPath, name)).split(path.sep);
  if (!FOLDERS.includes(folder)) wrong.push(`${SERVER}/${folder} is missing from the order of imports (scripts/import-order.ts).`);
  if (inner.length >= DEPTH) wrong.push(`${parentPath}/${name} is deeper than DEPTH in scripts/import-rules.ts allows.`);
}

for (const line of wrong) process.stderr.write(`${line}\n`);
if (wrong.length > 0) process.exit(1);
const refusals = CASES.filter(({ refusedBy }) => refusedBy !== null).length;
process.stdout.write(`Import rules: ${refusals} lines refused and ${CASES.length - refusals} accepted, as expected.\n`);
