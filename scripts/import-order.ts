/**
 * The order of imports: the folders of `packages/server/src`, in rows. A folder imports those of the rows before its own, and no
 * other. `npm run docs` writes Biome's rules (lint/import-rules.jsonc) and docs/architecture.md from it. A folder that does not exist
 * yet may have its place here already.
 */
export const IMPORT_ORDER: readonly (readonly string[])[] = [
  ["kernel"],
  ["http", "outbound"],
  ["audit"],
  ["workspaces"],
  ["usage"],
  ["redaction"],
  ["vault"],
  ["lanes"],
  ["circuits"],
  ["jobs"],
  ["engine"],
  ["approvals", "dead-letters", "schedules", "webhooks", "workers", "workflows"],
  ["queues"],
  ["callbacks", "explain"],
  ["retention", "status"],
];

export const FOLDERS: readonly string[] = IMPORT_ORDER.flat();

/** The folders that those of a row may import. */
export const importableFrom = (row: number): string[] => IMPORT_ORDER.slice(0, row).flat();
