import { expect, test } from "vitest";
import { defaultMaxConnections, parseFileLimit, readFileLimit } from "#kernel";

test.each([
  [
    "Limit                     Soft Limit           Hard Limit           Units\nMax open files            20000                40000                files",
    20_000,
  ],
  ["Max open files            unlimited            unlimited            files", Number.MAX_SAFE_INTEGER],
  ["Max processes             100                  100                  processes", 1_024],
  ["", 1_024],
])("the limit of open files is read from %j", (text, expected) => expect(parseFileLimit(text)).toBe(expected));

test("without the file, the limit is taken to be a low one", () => expect(readFileLimit("/no/such/file")).toBe(1_024));

test.each([
  [1_024, 190],
  [4_096, 958],
  [20_000, 10_000],
  [10_000, 3_594],
  [Number.MAX_SAFE_INTEGER, 10_000],
  [256, 12],
  [100, 1],
])("of %i files, clients may have %i", (files, expected) =>
  expect(defaultMaxConnections(files, { callbacksInFlight: 4_096, databaseConnections: 14 })).toBe(expected),
);
