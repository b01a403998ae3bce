import { IMPORT_ORDER, importableFrom } from "./import-order.ts";

const SERVER = "packages/server/src";

/** The packages of this repository, of which the server imports one. */
const OTHER_PACKAGES = ["@tidemill/*", "tidemill", "!@tidemill/contract"];

/** How deep the kernel's folders go. Each depth has a rule of its own, for `../` leads out of the kernel from the top one only. */
const KERNEL_DEPTH = 3;

const override = (includes: readonly string[], message: string, group: readonly string[]) => ({
  includes,
  linter: { rules: { style: { noRestrictedImports: { level: "error", options: { patterns: [{ message, group }] } } } } },
});

const kernelRules = Array.from({ length: KERNEL_DEPTH }, (_, depth) => {
  const out = "../".repeat(depth + 1);
  const group = [...OTHER_PACKAGES, "#*", "#*/**", `${out}**`, `./${out}**`];
  return override([`${SERVER}/kernel/${"*/".repeat(depth)}*.ts`], "The kernel imports no other folder.", group);
});

const folderRules = IMPORT_ORDER.flatMap((folders, row) => {
  if (row === 0) return [];
  const message = "A folder imports only folders of the rows before its own, by their index (#jobs), and files of its own.";
  const group = [...OTHER_PACKAGES, "../**", "./../**", "#*", "#*/**", ...importableFrom(row).map((folder) => `!#${folder}`)];
  return override(
    folders.map((folder) => `${SERVER}/${folder}/**`),
    message,
    group,
  );
});

/** Biome's rules for the order of imports, as lint/import-rules.jsonc holds them: a rule a line. */
export function importRules(): string {
  const rules = [...kernelRules, ...folderRules].map((rule) => `  ${JSON.stringify(rule)}`);
  const head = "// Generated from scripts/import-order.ts by `npm run docs`. Do not edit.";
  return [head, '{ "overrides": [', rules.join(",\n"), "] }", ""].join("\n");
}

/** The order as docs/architecture.md shows it: the folders that are there. */
export function importOrder(existing: readonly string[]): string {
  const rows = IMPORT_ORDER.map((folders) => folders.filter((folder) => existing.includes(folder)).map((folder) => `\`${folder}\``));
  const filled = rows.filter((folders) => folders.length > 0);
  return filled.map((folders, at) => `${at + 1}. ${folders.join(", ")}`).join("\n");
}
