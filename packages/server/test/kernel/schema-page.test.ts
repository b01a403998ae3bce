import { readFile } from "node:fs/promises";
import { describe, expect } from "vitest";
import { readComments } from "../../../../scripts/migration-comments.ts";
import { readMigrations } from "../../../../scripts/read-migrations.ts";
import { schemaPage } from "../../../../scripts/schema-page.ts";
import { test } from "../harness/engine.ts";

/** What the harness adds to the schema. */
const isOfTests = (name: string): boolean => name === "frozen_moment" || name.startsWith("tests_");

const comments = readComments(await readMigrations());

describe("docs/schema.md", () => {
  test("shows the schema of a migrated database: if not, run npm run docs", async ({ database }) => {
    const page = await readFile(new URL("../../../../docs/schema.md", import.meta.url), "utf8");
    expect(await schemaPage((text) => database.query<never>(text), comments, isOfTests)).toBe(page);
  });

  test("cannot be made for a table that has no owner", async ({ database }) => {
    const page = schemaPage((text) => database.query<never>(text), comments);
    await expect(page).rejects.toThrow("Without an owner in scripts/table-owners.ts: frozen_moment.");
  });

  test("takes what tables, columns and indexes mean from the comments before them", () => {
    const { relations, columns, indexes } = readComments(`-- Jobs that
-- are not finished.
create table job (
  id    uuid primary key,
  -- How often it was tried.
  tries integer,
  -- No column.
  check (tries > 0)
);
-- By age.
create index job_age on job (id);

-- Of nothing.

alter table job
  -- Its name.
  add column name text;
`);
    expect([...relations]).toEqual([["job", "Jobs that are not finished."]]);
    expect([...columns]).toEqual([
      ["job.tries", "How often it was tried."],
      ["job.name", "Its name."],
    ]);
    expect([...indexes]).toEqual([["job_age", "By age."]]);
  });
});
