import { LIMITS } from "@tidemill/contract";
import { describe, expect, test } from "vitest";
import type { SlicedWork, WorkspaceId } from "#kernel";
import { FormCache, Redactor } from "#redaction";

const MINE = "00000000-0000-0000-0000-000000000001" as WorkspaceId;
const OTHER = "00000000-0000-0000-0000-000000000002" as WorkspaceId;

/** The result of a work, and in how many slices it was made. */
function sliced<Result>(work: SlicedWork<Result>): { result: Result; slices: number } {
  for (let slices = 1; ; slices += 1) {
    const step = work.next();
    if (step.done) return { result: step.value, slices };
  }
}

const secretOf = (number: number) => `secret value ${number} of a workspace, with "quotes" and ümlauts`;
const named = (numbers: readonly number[]) => new Map(numbers.map((number) => [`S${number}`, secretOf(number)]));
const textWith = (number: number) => `before ${Buffer.from(secretOf(number)).toString("base64")} and ${secretOf(number)} after`;

describe("forms of values that were made before", () => {
  test("are found as new ones are, each by the name that it has now", () => {
    const known = new FormCache().of(MINE);
    const sets = [[1, 2], [2, 3], [1, 2, 3], [3]];
    for (const set of sets) {
      for (const number of [1, 2, 3]) {
        const text = textWith(number);
        const [before, now] = [sliced(new Redactor(named(set)).text(text)), sliced(new Redactor(named(set), known).text(text))];
        expect(now.result).toBe(before.result);
        expect(now.result).toBe(set.includes(number) ? `before [secret:S${number}] and [secret:S${number}] after` : text);
      }
    }
    const renamed = new Redactor(new Map([["NEW", secretOf(1)]]), known);
    expect(sliced(renamed.text(textWith(1))).result).toBe("before [secret:NEW] and [secret:NEW] after");
  });

  test("are not made again", () => {
    const known = new FormCache().of(MINE);
    const hundred = named(Array.from({ length: 100 }, (_, number) => number));
    const slices = () =>
      sliced(new Redactor(hundred, known).text("a short text that is longer than each of the values is, so that all are sought")).slices;
    const first = slices();
    expect(first).toBeGreaterThan(10);
    expect(slices()).toBeLessThan(first / 4);
  });

  test("take as much of the work that a text may cost: what is kept does not depend on them", () => {
    const known = new FormCache().of(MINE);
    const long = (number: number) => secretOf(number).repeat(50);
    const values = new Map(Array.from({ length: 40 }, (_, number) => [`S${number}`, long(number)]));
    const text = "zuiop ".repeat(10_000);
    const results = [1, 2, 3].map(() => sliced(new Redactor(values, known).text(text)).result);
    expect(results).toEqual([null, null, null]);
  });

  test("are those of their workspace alone", () => {
    const cache = new FormCache();
    sliced(new Redactor(named([1]), cache.of(MINE)).text(textWith(1)));
    expect([cache.of(MINE).get(secretOf(1)), cache.of(OTHER).get(secretOf(1))]).toEqual([expect.anything(), undefined]);
  });

  test("leave a workspace that has many when it makes more, and others keep theirs", () => {
    const cache = new FormCache(2 * 1024 * 1024);
    sliced(new Redactor(named([1]), cache.of(OTHER)).text(textWith(1)));
    for (let number = 0; number < 200; number += 1) sliced(new Redactor(named([number]), cache.of(MINE)).text(textWith(number)));
    expect([0, 199].map((number) => cache.of(MINE).get(secretOf(number)) !== undefined)).toEqual([false, true]);
    expect(cache.of(OTHER).get(secretOf(1))).toBeDefined();
  });

  test("are forgotten when they are not used for a while", () => {
    const cache = new FormCache();
    const known = cache.of(MINE);
    const use = (number: number) => sliced(new Redactor(named([number]), known).text(textWith(number)));
    use(1);
    use(2);
    cache.forgetUnused();
    use(1);
    cache.forgetUnused();
    expect([1, 2].map((number) => known.get(secretOf(number)) !== undefined)).toEqual([true, false]);
  });

  test("are not kept of a value that is very long", () => {
    const known = new FormCache().of(MINE);
    const value = "x".repeat(LIMITS.secretBytes);
    sliced(new Redactor(new Map([["S", value]]), known).text(value));
    expect(known.get(value)).toBeUndefined();
  });
});
