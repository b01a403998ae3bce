import { IMPORT_ORDER, importableFrom } from "./import-order.ts";

const SERVER = "packages/server/src";

/** The packages of this repository. The server may import only the contract. */
const OTHER_PACKAGES = ["@tidemill/*", "tidemill", "!@tidemill/contract"];

/** How many levels of folders the rules cover. Each level has a rule: `../` leaves a folder from its top level, `../../` from the next. */
export const DEPTH = 3;

const override = (includes: readonly string[], message: string, group: readonly string[]) => ({
  includes,
  linter: { rules: { style: { noRestrictedImports: { level: "error", options: { patterns: [{ message, group }] } } } } },
});

const folderRules = IMPORT_ORDER.flatMap((folders, row) => {
  const message =
    row === 0
      ? "The kernel imports no other folder."
      : "A folder imports only its own files, and folders of earlier rows by their index (#jobs). See scripts/import-order.ts.";
  return Array.from({ length: DEPTH }, (_, depth) => {
    const out = "../".repeat(depth + 1);
    const files = folders.map((folder) => `${SERVER}/${folder}/${"*/".repeat(depth)}*.ts`);
    const importable = importableFrom(row).map((folder) => `!#${folder}`);
    return override(files, message, [...OTHER_PACKAGES, `${out}**`, `./${out}**`, "#*", "#*/**", ...importable]);
  });
});

/** The content of lint/import-rules.jsonc: Biome's rules for the order of imports, one per line. */
export function importRules(): string {
  const rules = folderRules.map((rule) => `  ${JSON.stringify(rule)}`);
  const head = "// Generated from scripts/import-order.ts by `npm run docs`. Do not edit.";
  return [head, '{ "overrides": [', rules.join(",\n"), "] }", ""].join("\n");
}

/** The order as docs/architecture.md shows it, with the folders that exist. */
export function importOrder(existing: readonly string[]): string {
  const rows = IMPORT_ORDER.map((folders) => folders.filter((folder) => existing.includes(folder)).map((folder) => `\`${folder}\``));
  const filled = rows.filter((folders) => folders.length > 0);
  return filled.map((folders, at) => `${at + 1}. ${folders.join(", ")}`).join("\n");
}
