/**
 * The order of imports: the folders of `packages/server/src`, in rows. A folder may import only folders of earlier rows.
 * `npm run docs` generates Biome's rules (lint/import-rules.jsonc) and a part of docs/architecture.md from it. It may list folders that
 * do not exist yet.
 */
export const IMPORT_ORDER: readonly (readonly string[])[] = [
  ["kernel"],
  ["http", "outbound"],
  ["audit", "outbox"],
  ["workspaces"],
  ["usage"],
  ["redaction"],
  ["vault"],
  ["people"],
  ["lanes"],
  ["circuits"],
  ["jobs"],
  ["engine"],
  ["approvals", "dead-letters", "operations", "schedules", "live"],
  ["workflows"],
  ["workers"],
  ["queues"],
  ["callbacks", "explain"],
  ["pushes", "webhooks"],
  ["dashboard", "metrics", "retention", "status"],
];

export const FOLDERS: readonly string[] = IMPORT_ORDER.flat();

/** The folders that the folders of a row may import. */
export const importableFrom = (row: number): string[] => IMPORT_ORDER.slice(0, row).flat();
