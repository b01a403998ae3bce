import { expect, test } from "vitest";
import { encodeParts } from "#kernel";

test.each([
  ["short", 10],
  ["long", 100_000],
])("a %s text is encoded as UTF-8, whatever its characters", (_length, count) => {
  const value = JSON.stringify("aé漢🌊".repeat(count));
  expect(encodeParts(['{"a":', value, "}"])).toEqual(Buffer.from(`{"a":${value}}`));
});
