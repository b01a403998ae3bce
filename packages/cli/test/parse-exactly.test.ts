import { expect, test } from "vitest";
import { parseExactly } from "../src/parse-exactly.ts";

test.for([
  '{"n":12345678901234567890}',
  "[0.1234567890123456789,-12345678901234567890]",
  "1e400",
  "[1.0,2.50,-0,1E3]",
  '{"text":"1.0 12345678901234567890","n":7,"deep":[{"n":9007199254740993}]}',
])("%s is written as it was read", (text) => {
  expect(JSON.stringify(parseExactly(text))).toBe(text);
});

test("numbers that JavaScript writes in the same way stay numbers", () => {
  expect(parseExactly('{"n":1.5,"big":9007199254740991,"at":"2026-11-21T09:30:00.000Z"}')).toEqual({
    n: 1.5,
    big: 9_007_199_254_740_991,
    at: "2026-11-21T09:30:00.000Z",
  });
});

test("what is not JSON is refused", () => {
  expect(() => parseExactly("{1.0")).toThrow(SyntaxError);
});
