import fc from "fast-check";
import { describe, expect } from "vitest";
import { binaryTextArray, type Database, plainArray, rows, sql, textArray } from "#kernel";
import { anyCharacter } from "../harness/any-character.ts";
import { test } from "../harness/engine.ts";

const RUNS = { numRuns: 150 };

/** What PostgreSQL's text can hold: no NUL, no lone surrogates. */
const storable = fc.string({ unit: anyCharacter, maxLength: 20 }).map((text) => text.toWellFormed().replaceAll("\0", ""));
const delicate = fc.constantFrom(
  "",
  " ",
  "NULL",
  "null",
  '"',
  "\\",
  '\\"',
  "{",
  "}",
  "{}",
  ",",
  "a,b",
  "\n",
  "\t",
  "'",
  "$1",
  "\\N",
  "é",
  "🌊",
);
const text = fc.option(
  fc.oneof(
    delicate,
    storable,
    fc.array(delicate).map((parts) => parts.join("")),
  ),
  { nil: null },
);

const echoed = async (engine: Database, statement: ReturnType<typeof sql>): Promise<unknown> =>
  (await rows<{ echo: unknown }>(engine, statement))[0]?.echo;

describe("an array reaches PostgreSQL and comes back as it was", () => {
  test("an array of texts and nulls reaches PostgreSQL and comes back as it was", async ({ engine }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 20 }), async (values) => {
        expect(await echoed(engine, sql`select ${textArray(values)}::text[] as echo`)).toEqual(values);
      }),
      RUNS,
    );
  });

  test("an array of large texts and nulls reaches PostgreSQL and comes back as it was", async ({ engine }) => {
    const long = '"\\é🌊'.repeat(20_000);
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 20 }), fc.nat(20), async (some, at) => {
        const values = some.toSpliced(at, 0, long);
        expect(await echoed(engine, sql`select ${binaryTextArray(values)}::text[] as echo`)).toEqual(values);
        expect(await echoed(engine, sql`select ${binaryTextArray(some)}::text[] as echo`)).toEqual(some);
      }),
      { numRuns: 30 },
    );
  });

  test("an array of large texts of three bytes per character reaches PostgreSQL and comes back as it was", async ({ engine }) => {
    const values = ["x", null, ..."中文字母表".split("").map((character) => character.repeat(50_000)), null, "é".repeat(50_000), ""];
    expect(await echoed(engine, sql`select ${binaryTextArray(values)}::text[] as echo`)).toEqual(values);
  });

  test("an array of whole numbers and nulls reaches PostgreSQL and comes back as it was", async ({ engine }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(fc.integer(), { nil: null })), async (values) => {
        expect(await echoed(engine, sql`select ${plainArray(values)}::int[] as echo`)).toEqual(values);
      }),
      RUNS,
    );
  });

  test("an array of fractions reaches PostgreSQL and comes back as it was", async ({ engine }) => {
    const fraction = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));
    await fc.assert(
      fc.asyncProperty(fc.array(fraction), async (values) => {
        expect(await echoed(engine, sql`select ${plainArray(values)}::float8[] as echo`)).toEqual(values);
      }),
      RUNS,
    );
  });

  test("an array of truth values reaches PostgreSQL and comes back as it was", async ({ engine }) => {
    const values = [true, null, false];
    expect(await echoed(engine, sql`select ${plainArray(values)}::boolean[] as echo`)).toEqual(values);
  });

  test("an array of UUIDs reaches PostgreSQL and comes back as it was", async ({ engine }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uuid()), async (values) => {
        expect(await echoed(engine, sql`select ${plainArray(values)}::uuid[]::text[] as echo`)).toEqual(values);
      }),
      RUNS,
    );
  });
});

describe("a statement", () => {
  test("a statement keeps its values apart from its text, whatever they say", async ({ engine }) => {
    await fc.assert(
      fc.asyncProperty(storable, async (value) => {
        const statement = sql`select ${value}::text as echo`;
        expect(statement.text).toBe("select $1::text as echo");
        expect(await echoed(engine, statement)).toBe(value);
      }),
      { numRuns: 30 },
    );
  });

  test("a statement is prepared under one name wherever its text stands", () => {
    expect(sql`select ${1}::int`.name).toBe(sql`select ${2}::int`.name);
    expect(sql`select ${1}::int`.name).not.toBe(sql`select ${1}::int as other`.name);
  });

  test("a statement has a name that PostgreSQL does not cut off", () => {
    expect(Buffer.byteLength(sql`select ${1}::text`.name)).toBeLessThan(64);
  });
});
