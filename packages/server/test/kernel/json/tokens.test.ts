import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isNestedAtMost, isStructure, nextToken, positionAfter, syntaxErrorAt, tokenEnd } from "#kernel";

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  for (let at = nextToken(text, 0), end: number; at < text.length; at = nextToken(text, end)) {
    end = tokenEnd(text, at);
    tokens.push(text.slice(at, end));
  }
  return tokens;
}

/** The tokens of a value, from the value itself. */
function expectedTokens(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [JSON.stringify(value)];
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const members = Object.entries(value).map(([name, inner]) => [
    ...(Array.isArray(value) ? [] : [JSON.stringify(name), ":"]),
    ...expectedTokens(inner),
  ]);
  return [open, ...members.flatMap((tokens, index) => (index === 0 ? tokens : [",", ...tokens])), close];
}

const value = fc.json({ maxDepth: 4, stringUnit: "binary" }).map((text) => JSON.parse(text) as unknown);

describe("the tokens of JSON", () => {
  test("the tokens of JSON are its strings, scalars and structural characters, whatever stands between them", () => {
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, "\t", " \r\n"), (one, space) => {
        expect(tokensOf(JSON.stringify(one, null, space))).toEqual(expectedTokens(one));
      }),
    );
  });

  test("the tokens of JSON are the same when the text holds UTF-8 with one character per byte", () => {
    fc.assert(
      fc.property(value, (one) => {
        const bytes = Buffer.from(JSON.stringify(one));
        const tokens = tokensOf(bytes.toString("latin1")).map((token) => Buffer.from(token, "latin1").toString());
        expect(tokens).toEqual(expectedTokens(one));
      }),
    );
  });

  test.for([
    [String.raw`"\\" , "\"" `, [String.raw`"\\"`, ",", String.raw`"\""`]],
    [String.raw`"\\\"]\u0022"`, [String.raw`"\\\"]\u0022"`]],
    ['{"a}":-1.0E+2}', ["{", '"a}"', ":", "-1.0E+2", "}"]],
    ["\t\n\r 7 ", ["7"]],
    ["", []],
  ] as const)("of %s are %j", ([text, tokens]) => {
    expect(tokensOf(text)).toEqual(tokens);
  });
});

describe("the tokens of a text that is not JSON", () => {
  test.for([
    ['["a', ["[", '"a']],
    ['"\\', ['"\\']],
    ['nope"a"]}', ["nope", '"a"', "]", "}"]],
    ["\u00a0\u0000 x", ["\u00a0\u0000", "x"]],
  ] as const)("of %j are %j", ([text, tokens]) => {
    expect(tokensOf(text)).toEqual(tokens);
  });

  test("the tokens of a text that is not JSON leave out nothing but white space, and end with the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('"', "\\", "{", "}", "[", "]", ":", ",", " ", "\n", "a", "1", "é") }), (text) => {
        let from = 0;
        for (const token of tokensOf(text)) {
          const at = text.indexOf(token, from);
          expect(text.slice(from, at)).toMatch(/^[ \n]*$/);
          expect(token.length === 1 || token.startsWith('"') || ![...token].some((one) => isStructure(one.charCodeAt(0)))).toBe(true);
          from = at + token.length;
        }
        expect(text.slice(from)).toMatch(/^[ \n]*$/);
      }),
    );
  });
});

describe("the place at which a text stops being JSON", () => {
  test("the place at which a text stops being JSON is that of a character that no JSON has between two tokens", () => {
    fc.assert(
      fc.property(value, fc.nat(), (one, place) => {
        const tokens = expectedTokens(one);
        const before = tokens.slice(0, place % (tokens.length + 1)).map((token) => `${token} `);
        const text = `${before.join("")}! ${tokens.slice(before.length).join(" ")}`;
        expect(syntaxErrorAt(text)).toBe(before.join("").length);
      }),
    );
  });

  test.for([
    ["", "line 1, column 1"],
    ["é", "line 1, column 2"],
    ["a\n", "line 2, column 1"],
    ["a\r\nbc\nd", "line 3, column 2"],
  ] as const)("after %j is %s", ([text, position]) => {
    expect(positionAfter(text)).toBe(position);
  });
});

test.for([
  [1, 0, true],
  [[], 0, false],
  [[], 1, true],
  [{ a: [1, { b: null }] }, 3, true],
  [{ a: [1, { b: [] }] }, 3, false],
] as const)("whether %j is nested at most %i deep: %s", ([nested, levels, answer]) => {
  expect(isNestedAtMost(nested, levels)).toBe(answer);
});
