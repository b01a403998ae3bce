import { IMPORT_ORDER, importableFrom } from "./import-order.ts";

const SERVER = "packages/server/src";

/** The packages of this repository, of which the server imports one. */
const OTHER_PACKAGES = ["@tidemill/*", "tidemill", "!@tidemill/contract"];

/** How deep folders go. Each depth has a rule of its own: `../` leads out of a folder from its top, `../../` from a folder in it. */
export const DEPTH = 3;

const override = (includes: readonly string[], message: string, group: readonly string[]) => ({
  includes,
  linter: { rules: { style: { noRestrictedImports: { level: "error", options: { patterns: [{ message, group }] } } } } },
});

const folderRules = IMPORT_ORDER.flatMap((folders, row) => {
  const message =
    row === 0
      ? "The kernel imports no other folder."
      : "A folder imports only folders of the rows before its own, by their index (#jobs), and files of its own.";
  return Array.from({ length: DEPTH }, (_, depth) => {
    const out = "../".repeat(depth + 1);
    const files = folders.map((folder) => `${SERVER}/${folder}/${"*/".repeat(depth)}*.ts`);
    const importable = importableFrom(row).map((folder) => `!#${folder}`);
    return override(files, message, [...OTHER_PACKAGES, `${out}**`, `./${out}**`, "#*", "#*/**", ...importable]);
  });
});

/** Biome's rules for the order of imports, as lint/import-rules.jsonc holds them: a rule a line. */
export function importRules(): string {
  const rules = folderRules.map((rule) => `  ${JSON.stringify(rule)}`);
  const head = "// Generated from scripts/import-order.ts by `npm run docs`. Do not edit.";
  return [head, '{ "overrides": [', rules.join(",\n"), "] }", ""].join("\n");
}

/** The order as docs/architecture.md shows it: the folders that are there. */
export function importOrder(existing: readonly string[]): string {
  const rows = IMPORT_ORDER.map((folders) => folders.filter((folder) => existing.includes(folder)).map((folder) => `\`${folder}\``));
  const filled = rows.filter((folders) => folders.length > 0);
  return filled.map((folders, at) => `${at + 1}. ${folders.join(", ")}`).join("\n");
}
