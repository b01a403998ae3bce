import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, runAtOnce } from "#kernel";

const canonical = (text: string) => runAtOnce(canonicalJson(text));

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
    const work = canonicalJson(text);
    let slices = 1;
    while (!work.next().done) slices += 1;
    expect(slices).toBeGreaterThan(20);
    const value = JSON.parse(text);
    const sorted = Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
    expect(canonical(text)).toBe(JSON.stringify(sorted));
  });
});
