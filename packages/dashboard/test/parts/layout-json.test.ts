import { expect, test } from "vitest";
import { layoutJson } from "../../src/ui/json/layout-json.ts";

/** The lines as text, indented. */
const shown = (text: string) =>
  layoutJson(text)?.map(
    ({ depth, name, text: value, comma }) => `${"  ".repeat(depth)}${name ? `${name}: ` : ""}${value}${comma ? "," : ""}`,
  );

test("JSON is laid out by its text alone", () => {
  expect(shown('{"n":12345678901234567890,"n":1.50,"list":[{},[],"a\\"b"],"deep":{"x":null}}')).toEqual([
    "{",
    '  "n": 12345678901234567890,',
    '  "n": 1.50,',
    '  "list": [',
    "    {},",
    "    [],",
    '    "a\\"b"',
    "  ],",
    '  "deep": {',
    '    "x": null',
    "  }",
    "}",
  ]);
});

test("an opening bracket knows its end and how much it holds", () => {
  const brackets = layoutJson('{"a":[1,2,3],"b":2}')?.filter(({ kind }) => kind === "open");
  expect(brackets).toMatchObject([
    { text: "{", end: 7, count: 2 },
    { text: "[", end: 5, count: 3 },
  ]);
});

test.for(["plain text", "{", '{"a":1', "", "<b>"])("a text that is not JSON is not laid out: %s", (text) => {
  const lines = layoutJson(text);
  expect(lines === null || lines.every(({ kind }) => kind === "word")).toBe(true);
});
