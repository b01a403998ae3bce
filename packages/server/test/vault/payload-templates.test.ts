import { LIMITS, parseTemplates } from "@tidemill/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runSynchronously, type SlicedWork } from "#kernel";
import { checkPayloadTemplates, fillPayload, mayHoldTemplates, parsePayload } from "../../src/vault/payload-templates.ts";
import { secretNamesIn, TemplateFiller } from "../../src/vault/template-filler.ts";

const fill = (json: string, secrets: Record<string, string>) =>
  runSynchronously(fillPayload(runSynchronously(parsePayload(json)), new TemplateFiller(new Map(Object.entries(secrets)))));

/** What a template means, computed the slow way: on the parsed value. */
function substituted(value: unknown, secrets: Record<string, string>): unknown {
  if (typeof value === "string")
    return parseTemplates(value)
      .map((part) => (typeof part === "string" ? part : secrets[part.secret]))
      .join("");
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((inner) => substituted(inner, secrets));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, substituted(inner, secrets)]));
}

describe("a payload's templates", () => {
  test("values stand in place of templates, and every other byte is as it was sent", () => {
    const json =
      '{ "big": 12345678901234567890, "a" : "Bearer ${{ secrets.A }}",\n"a":1e2, "u":"\\u0041\\/", "list":["${{secrets.B}}", {"x":"${{ secrets.A }}"}] }';
    expect(fill(json, { A: "one", B: "two" })).toBe(
      '{ "big": 12345678901234567890, "a" : "Bearer one",\n"a":1e2, "u":"\\u0041\\/", "list":["two", {"x":"one"}] }',
    );
  });

  test.for([
    ["a quote and a brace", '"},"admin":true,"x":{"y":"'],
    ["a backslash at the end", "\\"],
    ["line breaks and control characters", "a\r\n\t\u0000\u001f"],
    ["another template", "${{ secrets.B }}"],
    ["the end of a template", "}}"],
    ["separators of lines", "\u2028\u2029"],
    ["what replacements mean elsewhere", "$& $1 $` $'"],
  ])("a value with %s stays inside its string", ([, value = ""]) => {
    expect(JSON.parse(fill('{"token":"<${{ secrets.A }}>","next":"${{ secrets.B }}"}', { A: value, B: "b" }))).toEqual({
      token: `<${value}>`,
      next: "b",
    });
  });

  test("a template whose characters are escaped is one all the same", () => {
    const json = '["\\u0024{{ secrets.A }}", "$\\u007B{ secrets.A }}", "$\\u007b\\u007bsecrets.\\u0041}}", "\\\\u0024{{ secrets.A }}"]';
    expect(mayHoldTemplates(json)).toBe(true);
    expect(JSON.parse(fill(json, { A: "v" }))).toEqual(["v", "v", "v", "\\u0024{{ secrets.A }}"]);
  });

  test("a template in the name of a member is an error", () => {
    expect(() => fill('{"a":{"${{ secrets.A }}":1}}', { A: "x" })).toThrow("in a member's name");
  });

  test("a string alone is a payload", () => {
    expect(fill('"${{ secrets.A }}"', { A: "v" })).toBe('"v"');
  });

  test("each secret is named once", () => {
    const { strings } = runSynchronously(parsePayload('["${{ secrets.A }}${{ secrets.B }}","${{ secrets.A }}"]'));
    expect(secretNamesIn(strings)).toEqual(["A", "B"]);
  });

  test("secrets add no more than the limit, however often one is named", () => {
    const value = "x".repeat(1024);
    const times = (count: number) => JSON.stringify(Array(count).fill("${{ secrets.A }}"));
    const most = LIMITS.templateGrowthBytes / 1024;
    expect(fill(times(most), { A: value })).toHaveLength(times(most).length + most * (1024 - "${{ secrets.A }}".length));
    expect(() => fill(times(most + 1), { A: value })).toThrow("add more than 131072 bytes");
  });

  const text = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("${{ secrets.A }}", "x${{secrets.B}}y${{ secrets.A }}", '\\"', '"', "\\", "\\\\", "{", "}", ":", '":"'),
  );
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("json"), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie("json"), { maxKeys: 4 }),
    ),
  }));

  test("what comes out is what filling in the parsed value gives, for any payload and any values", () => {
    fc.assert(
      fc.property(json, fc.string({ unit: "grapheme" }), text, fc.constantFrom(undefined, 1, "\t"), (value, A, B, space) => {
        const source = JSON.stringify(value, null, space);
        expect(JSON.parse(fill(source, { A, B }))).toEqual(JSON.parse(JSON.stringify(substituted(value, { A, B }))));
        expect(fill(source, { A: "${{ secrets.A }}", B: "${{secrets.B}}" })).toHaveLength(source.length);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a payload with many templates in few strings", () => {
  const json = JSON.stringify(Array(40).fill("${{ secrets.A }}".repeat(LIMITS.textTemplates)));
  const pausesOf = (work: SlicedWork<unknown>): number => {
    let pauses = 0;
    while (!work.next().done) pauses += 1;
    return pauses;
  };

  test("a payload with many templates in few strings is taken apart, and filled, in slices", () => {
    expect(pausesOf(parsePayload(json))).toBeGreaterThanOrEqual(39);
    expect(pausesOf(fillPayload(runSynchronously(parsePayload(json)), new TemplateFiller(new Map([["A", "v"]]))))).toBeGreaterThanOrEqual(
      20,
    );
  });

  test("a payload with long strings that hold no template is looked through in slices", () => {
    const long = JSON.stringify(["${{ secrets.A }}", ..."ab".split("").map((letter) => letter.repeat(500_000))]);
    expect(pausesOf(parsePayload(long))).toBeGreaterThanOrEqual(3);
  });
});

describe("a payload that is to be stored", () => {
  test.for([
    ['{"a":{"b":["x","${{ oops"]}}', "payload.a.b[1]", "without }}"],
    ['"${{ env.HOME }}"', "payload", 'namespace "env"'],
    ['{"a":"\\u0024{{ secrets.a }}"}', "payload.a", "names no secret"],
    ['{"a":"${{ nope }}","a":"x"}', "payload.a", "names no secret"],
    ['{"a":[[],{"b":[1,{}]},{"c":{"d":"${{ nope }}"}}]}', "payload.a[2].c.d", "names no secret"],
    ['{"a":[{"${{ secrets.A }}":1}]}', "payload.a[0]", "in a member's name"],
  ])("a payload that is to be stored, %s, is refused at %s", ([json = "", path, message]) => {
    expect(() => runSynchronously(checkPayloadTemplates(json, "payload"))).toThrow(
      expect.objectContaining({
        code: "VALIDATION_ERROR",
        details: { issues: [{ path, message: expect.stringContaining(message as string) }] },
      }),
    );
  });

  test("a payload that is to be stored names at most a hundred secrets, each as often as it likes", () => {
    const naming = (count: number) => JSON.stringify(Array.from({ length: 300 }, (_, at) => `\${{ secrets.S${at % count} }}`));
    expect(() => runSynchronously(checkPayloadTemplates(naming(100), "payload"))).not.toThrow();
    expect(() => runSynchronously(checkPayloadTemplates(naming(101), "payload"))).toThrow(
      expect.objectContaining({ details: { issues: [{ path: "payload", message: "names more than 100 secrets" }] } }),
    );
  });

  test.for(['{"a":"${{ secrets.A }}"}', '{"a":"$ { {"}', '["\\u0024", "{{"]', "1"])(
    "a payload that is to be stored, %s, is taken",
    (json) => {
      expect(() => runSynchronously(checkPayloadTemplates(json, "payload"))).not.toThrow();
    },
  );
});
