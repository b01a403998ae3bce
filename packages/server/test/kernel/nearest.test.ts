import { describe, expect, test } from "vitest";
import { nearest } from "#kernel";

describe("the nearest name", () => {
  test.each([
    ["emial", ["email", "orders"], "email"],
    ["emails", ["email"], "email"],
    ["Email", ["email"], "email"],
    ["STRIPE_KYE", ["STRIPE_KEY", "STRIPE_KEYS"], "STRIPE_KEY"],
    ["repotrs-dialy", ["reports-daily"], null],
    ["reprots-daly", ["reports-daily"], "reports-daily"],
    ["email", [], null],
    ["email", ["orders", "billing"], null],
  ])("the nearest name of %j among %j is %j", (typed, names, meant) => {
    expect(nearest(typed, names)).toBe(meant);
  });

  test.each([
    ["a", ["b"], null],
    ["ab", ["ac"], "ac"],
    ["ab", ["cd"], null],
    ["abc", ["xbz"], null],
  ])("the nearest name of a short one, %j among %j, may have fewer typos: %j", (typed, names, meant) => {
    expect(nearest(typed, names)).toBe(meant);
  });

  test("the nearest name is never the name itself, which may be there by now", () => {
    expect(nearest("email", ["email"])).toBeNull();
    expect(nearest("email", ["email", "emails"])).toBe("emails");
  });

  test("the nearest name of equally near ones is the first in the alphabet, in whatever order they come", () => {
    expect([nearest("order", ["orders", "border"]), nearest("order", ["border", "orders"])]).toEqual(["border", "border"]);
  });

  test("the nearest name of a text that is far longer than any name is none", () => {
    expect(nearest("x".repeat(2_000_000), ["x".repeat(128)])).toBeNull();
  });
});
