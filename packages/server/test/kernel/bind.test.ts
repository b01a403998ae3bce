import { describe, expect } from "vitest";
import { largeTextArray, rows, sql } from "#kernel";
import { test } from "../harness/engine.ts";

describe("a statement with large values", () => {
  test("a large value reaches the database beside values of every other kind, also the second time", async ({ engine }) => {
    const large = Array.from({ length: 600 }, (_, index) => `${index} é🌊 ${"x".repeat(1_000)}`);
    const read = () =>
      rows(
        engine,
        sql`
          select ${"é"}::text as text, ${null}::text as nothing, ${""}::text as empty, ${7}::int as number, ${true}::boolean as yes,
            ${largeTextArray(large)}::text[] as large, ${Buffer.from("ab")}::bytea as bytes, ${largeTextArray(large.toReversed())}::text[] as other`,
      );
    const values = {
      text: "é",
      nothing: null,
      empty: "",
      number: 7,
      yes: true,
      large,
      bytes: Buffer.from("ab"),
      other: large.toReversed(),
    };
    expect(await read()).toEqual([values]);
    expect(await read()).toEqual([values]);
  });

  test("a statement that fails with a large value leaves its connection usable", async ({ engine }) => {
    const large = largeTextArray(Array(300).fill("x".repeat(1_000)));
    await expect(rows(engine, sql`select ${large}::text[] as large, 1 / ${0}::int as failed`)).rejects.toThrow("division by zero");
    expect(await rows(engine, sql`select cardinality(${large}::text[]) as count`)).toEqual([{ count: 300 }]);
  });
});
