import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, runAtOnce } from "#kernel";

const canonical = (text: string) => runAtOnce(canonicalJson(text)).join("");

function pausesOf(text: string): number {
  const work = canonicalJson(text);
  let pauses = 0;
  while (!work.next().done) pauses += 1;
  return pauses;
}

/** The value as JSON whose white space and order of members `random` decides. */
function spelled(value: unknown, random: () => number): string {
  const space = () => [" ", "\n\t", "", "\r\n  "][Math.floor(random() * 4)];
  const around = (text: string) => `${space()}${text}${space()}`;
  if (Array.isArray(value)) return around(`[${space()}${value.map((item) => spelled(item, random)).join()}]`);
  if (typeof value !== "object" || value === null) return around(JSON.stringify(value));
  const members = Object.entries(value).map(([name, inner]) => ({
    at: random(),
    text: `${around(JSON.stringify(name))}:${spelled(inner, random)}`,
  }));
  return around(`{${space()}${members.sort((a, b) => a.at - b.at).map(({ text }) => text)}}`);
}

const json = fc.jsonValue({ maxDepth: 5 });
const generator = (seed: number) => {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
};

describe("canonical JSON", () => {
  test("canonical JSON is the same however the value was spelled", () => {
    fc.assert(
      fc.property(json, fc.nat(), fc.nat(), (value, one, two) => {
        expect(canonical(spelled(value, generator(one)))).toBe(canonical(spelled(value, generator(two))));
      }),
    );
  });

  test("canonical JSON is JSON of the same value", () => {
    fc.assert(
      fc.property(json, fc.nat(), (value, seed) => {
        expect(JSON.parse(canonical(spelled(value, generator(seed))))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test.for([
    [' {"b": 1,\n"a" :[ ] } ', '{"a":[],"b":1}'],
    ['{"a\\"}{": "\\\\", "a": " , : "}', '{"a":" , : ","a\\"}{":"\\\\"}'],
    ["[ 12345678901234567891 , 1.0, -1E+3 ,true ]", "[12345678901234567891,1.0,-1E+3,true]"],
    ['{"x":{"z":1,"y":2}, "a":[{"c":0 ,"b":0}]}', '{"a":[{"b":0,"c":0}],"x":{"y":2,"z":1}}'],
    ['{"a":1,"a":2}', '{"a":1,"a":2}'],
    ["\t7\n", "7"],
    ['" a "', '" a "'],
  ])("canonical JSON of %s is %s", ([text, expected]) => {
    expect(canonical(text as string)).toBe(expected);
  });

  test("canonical JSON of many members and items is written in slices", () => {
    const members = Array.from({ length: 20_000 }, (_, index) => `"m${(index * 7_919) % 20_000}":[${index}]`);
    const text = `{${members.join()},"list":[${"[],".repeat(20_000)}1]}`;
    expect(pausesOf(text)).toBeGreaterThan(20);
    const value = JSON.parse(text);
    const sorted = Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
    expect(canonical(text)).toBe(JSON.stringify(sorted));
  });

  test("canonical JSON of long tokens is written in slices", () => {
    expect(pausesOf(`["${"x".repeat(500_000)}", "${"y".repeat(500_000)}"]`)).toBeGreaterThan(1);
  });

  test("canonical JSON of few members with long names that begin alike is written in slices", () => {
    const members = Array.from({ length: 2_000 }, (_, index) => `"${"n".repeat(490)}${(index * 7_919) % 2_000}":1`);
    expect(pausesOf(`{${members.join()}}`)).toBeGreaterThan(50);
  });

  test("canonical JSON of a long string stays a piece of its own in the objects around it", () => {
    const long = `"${"x".repeat(100_000)}"`;
    const pieces = runAtOnce(canonicalJson(`${'{"b":'.repeat(60)}${long}${',"a":1}'.repeat(60)}`));
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(long.length + 10);
    expect(pieces.join("")).toBe(`${'{"a":1,"b":'.repeat(60)}${long}${"}".repeat(60)}`);
  });
});
