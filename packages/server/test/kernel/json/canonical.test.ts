import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, runSynchronously } from "#kernel";
import { anyCharacter } from "../../harness/any-character.ts";

function chunksOf(text: string): Buffer[] {
  const chunks: Buffer[] = [];
  runSynchronously(canonicalJson(text, (bytes) => chunks.push(Buffer.from(bytes))));
  return chunks;
}

const canonical = (text: string) => Buffer.concat(chunksOf(text)).toString();

/** The straightforward definition: tokens without white space, and members sorted by their names as JavaScript compares strings. */
function defined(text: string): string {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[^\s"{}[\],:]+|[{}[\],:]/g) ?? [];
  let at = 0;
  const value = (): string => {
    const token = tokens[at++] as string;
    if (token !== "{" && token !== "[") return token;
    const end = token === "{" ? "}" : "]";
    const items: { name: string; text: string }[] = [];
    while (tokens[at] !== end) {
      if (tokens[at] === ",") at += 1;
      const name = token === "{" ? (tokens[at] as string) : "";
      if (token === "{") at += 2;
      items.push({ name, text: token === "{" ? `${name}:${value()}` : value() });
    }
    at += 1;
    if (token === "{") items.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
    return `${token}${items.map((item) => item.text).join()}${end}`;
  };
  return value();
}

function pausesOf(text: string): number {
  const work = canonicalJson(text, () => {});
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

/** Names that begin alike, that need escapes, that occur twice, and that UTF-8 sorts in another order than UTF-16. */
const delicate = fc.constantFrom(
  "",
  "a",
  "ab",
  "m1",
  "m10",
  "m2",
  '"',
  "\\",
  '\\"',
  "a\\",
  "é",
  "\ud7ff",
  "\ue000",
  "\uffff",
  "🌊",
  "🌋",
  "{,}",
);
const name = fc.oneof(delicate, fc.string({ unit: anyCharacter, maxLength: 4 })).map((text) => JSON.stringify(text.toWellFormed()));
const spaced = (text: string) => fc.constantFrom("", "", " ", "\n\t").map((space) => `${space}${text}${space}`);
const { text: anyJson } = fc.letrec<{ text: string }>((tie) => {
  const member = fc.tuple(name, tie("text")).chain(([key, value]) => spaced(key).map((around) => `${around}:${value}`));
  const list = (items: fc.Arbitrary<string>, maxLength: number) => fc.array(items, { maxLength, size: "max" }).map((all) => all.join());
  return {
    text: fc
      .oneof(
        { maxDepth: 4, depthSize: "medium" },
        fc.constantFrom("0", "-1.50E+3", "12345678901234567891", "true", "null", '"{,\\"}"'),
        name,
        list(tie("text"), 4).map((items) => `[${items}]`),
        list(member, 5).map((members) => `{${members}}`),
        list(member, 40).map((members) => `{${members}}`),
      )
      .chain(spaced),
  };
});

describe("canonical JSON", () => {
  test("canonical JSON is what its definition says, as bytes: fingerprints that are stored depend on them", () => {
    fc.assert(
      fc.property(anyJson, (text) => {
        expect(canonical(text)).toBe(defined(text));
      }),
      { numRuns: 2_000 },
    );
  });

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

  test("canonical JSON that is dropped before its end frees its memory at once", () => {
    const chunks: Uint8Array[] = [];
    const work = canonicalJson(`[${"1,".repeat(500_000)}1]`, (bytes) => chunks.push(bytes));
    while (chunks.length === 0) work.next();
    expect(chunks[0]?.buffer).toMatchObject({ detached: false });
    work.return();
    expect(chunks[0]?.buffer).toMatchObject({ detached: true });
  });

  test("canonical JSON of long strings and of many members comes in chunks", () => {
    const long = `"${"x".repeat(200_000)}"`;
    const members = Array.from({ length: 20_000 }, (_, index) => `"m${(index * 7_919) % 20_000}":"é"`);
    for (const text of [long, `${'{"b":'.repeat(60)}${long}${',"a":1}'.repeat(60)}`, `{${members}}`]) {
      const chunks = chunksOf(text);
      expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(64 * 1024);
      expect(Buffer.concat(chunks).toString()).toBe(defined(text));
    }
  });
});
