import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runSynchronously } from "#kernel";
import { type JsonBodyError, parseJsonBody, RawJson } from "../../src/http/json-body.ts";

const parse = (body: string | Buffer, rawMember: string | null = "payload", maxDepth = 64) =>
  runSynchronously(parseJsonBody(Buffer.from(body), { maxDepth, rawMember }));

const raw = (text: string) => new RawJson(text);

const attempt = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    return error;
  }
};

const refusal = (body: string | Buffer, rawMember: string | null = "payload", maxDepth = 64) =>
  attempt(() => parse(body, rawMember, maxDepth)) as JsonBodyError;

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

/** Values that JSON.parse would change. */
const delicate = [
  "12345678901234567890",
  "1e400",
  "-0",
  "1.10",
  '{"b":1,"a":2,"10":3,"9":4}',
  '{"a":1,"a":2}',
  '[ 1 ,\n\t{ "x" : [ ] } ]',
  String.raw`"\u0000 \ud800 \u00e9 \/ \" \\"`,
  String.raw`"ends in a backslash \\"`,
  '"é € 😀 } ] , \uFFFD"',
  '{"__proto__":{"x":1},"constructor":{"prototype":{}},"payload":{"payload":1},"jobs":[{"payload":2}]}',
  "null",
  '""',
  "{}",
];

describe("the raw member", () => {
  test.each(delicate)("the raw member is kept as it was sent: %s", (source) => {
    const job = `{"tag": "t", "payload" : ${source} , "n": 1}`;
    const kept = { tag: "t", payload: raw(source), n: 1 };
    expect(parse(job)).toEqual(kept);
    expect(parse(`\r\n[${job}, ${job} ]\t`)).toEqual([kept, kept]);
    expect(parse(`{"jobs":[${job},${job}],"payload":${source}}`)).toEqual({ jobs: [kept, kept], payload: raw(source) });
  });

  test.each([
    ['{"payload":1,"payload": [2] }', { payload: raw("[2]") }],
    ['{"payload":{"a":1},"payload":2}', { payload: raw("2") }],
    [String.raw`{"\u0070aylo\u0061d":1.0}`, { payload: raw("1.0") }],
    [String.raw`{"jo\u0062s":[{"payload":1.0}]}`, { jobs: [{ payload: raw("1.0") }] }],
    [String.raw`{"\\u0070ayload":1}`, { "\\u0070ayload": 1 }],
    ['{"payloads":1,"payloa":2,"Payload":3,"":4}', { payloads: 1, payloa: 2, Payload: 3, "": 4 }],
    ['{"tag":"payload","x":["payload"]}', { tag: "payload", x: ["payload"] }],
    ['{"jobs":[{"payload":1},{"payload":2}],"jobs":[{"tag":"t"}]}', { jobs: [{ tag: "t" }] }],
    ['{"jobs":[{"payload":1}],"jobs":{"payload":2}}', { jobs: { payload: 2 } }],
    ['{"jobs":[{"payload":1}],"jobs":7}', { jobs: 7 }],
    ['{"jobs":7,"jobs":[1,[2,3],{},{"payload":4}]}', { jobs: [1, [2, 3], {}, { payload: raw("4") }] }],
    ['{"jobs":[{"payload":1}],"x":[{"payload":2}]}', { jobs: [{ payload: raw("1") }], x: [{ payload: 2 }] }],
  ])("the raw member is found in every form of a body: %s", (body, expected) => {
    expect(parse(body)).toEqual(expected);
  });

  test.each(['{"x":{"payload":1}}', '[[{"payload":1}]]', '{"jobs":[{"x":{"payload":1}},[{"payload":1}]]}', '"payload"'])(
    "the raw member stands nowhere deeper: %s",
    (body) => expect(parse(body)).toEqual(JSON.parse(body)),
  );

  test("the raw member can be another member, or none", () => {
    expect(parse('{"input":1.0,"payload":1.0}', "input")).toEqual({ input: raw("1.0"), payload: 1 });
    expect(parse('{"jobs":[{"payload":1}],"payload":2}', null)).toEqual({ jobs: [{ payload: 1 }], payload: 2 });
  });
});

describe("a body is refused", () => {
  test.each([
    ["", "empty", "is empty"],
    [" \n", "syntax", "ends too early at line 2, column 1"],
    ['{"payload":', "syntax", "ends too early at line 1, column 12"],
    ['{"payload": }', "syntax", "unexpected } at line 1, column 13"],
    ['{\n  "tag": "é",\n  tag: 1\n}', "syntax", "unexpected t at line 3, column 3"],
    ['{"payload":[1}', "syntax", "unexpected } at line 1, column 14"],
    ['{"payload":1 2}', "syntax", "unexpected 2 at line 1, column 14"],
    ['{"payload":01}', "syntax", "unexpected 1 at line 1, column 13"],
    ['{"a":"b\nc"}', "syntax", "unexpected U+000A at line 1, column 8"],
    [String.raw`{"\u00zz":1}`, "syntax", String.raw`unexpected \ at line 1, column 3`],
    ["[1,]", "syntax", "unexpected ] at line 1, column 4"],
    ["{} x", "syntax", "unexpected x at line 1, column 4"],
    ["\uFEFF{}", "syntax", "unexpected U+FEFF at line 1, column 1"],
    ['{"__proto__":1}', "syntax", "__proto__"],
    [String.raw`{"x":[{"\u005f_proto__":1}]}`, "syntax", "__proto__"],
    ['{"x":{"constructor":{"prototype":1}}}', "syntax", "constructor"],
  ])("a body is refused, %j: %s", (body, reason, words) => {
    const error = refusal(body);
    expect(error.reason).toBe(reason);
    expect(error.message).toContain(words);
  });

  test.each([[[0x22, 0xff, 0x22]], [[0x22, 0xc3]], [[0x22, 0xed, 0xa0, 0x80, 0x22]], [[0x22, 0xc0, 0xaf, 0x22]]])(
    "a body is refused that is not UTF-8: %j",
    (bytes) => expect(refusal(Buffer.from(bytes)).reason).toBe("not_utf8"),
  );

  test("a body is refused without a position when it is long", () => {
    expect(refusal(`["${"1,".repeat(200_000)}",]`)).toMatchObject({ message: "The body is not valid JSON." });
    expect(refusal(`{"payload":[${"1,".repeat(200_000)}]}`)).toMatchObject({ message: "The body is not valid JSON." });
  });

  test.each(["1,", "[],", '{"a":1},', '"",'])("a body is refused that has far more values than a request needs: %s", (piece) => {
    const body = `{"jobs":[${piece.repeat(16_001)}1]}`;
    expect(refusal(body)).toMatchObject({
      reason: "too_large",
      message: expect.stringContaining('16000 values outside of "payload"'),
    });
    expect(parse(`{"payload":${body}}`)).toEqual({ payload: raw(body) });
  });

  const MANY = 2 * 1024 * 1024 + 1;
  test.each([
    ["white space", `${" ".repeat(MANY)}{}`],
    ["white space", `{"payload":${"\n".repeat(MANY)}1}`],
    ["white space", `{"payload":[1,${"\t".repeat(MANY)}2]}`],
    ["digits", `{"payload":${"1".repeat(MANY)}}`],
  ])("a body is refused that has a run of more than 2 MiB of %s", (what, body) => {
    const words =
      what === "digits" ? `a number of more than ${MANY - 1} digits` : `more than ${MANY - 1} characters of white space in a row`;
    expect(refusal(body)).toMatchObject({ reason: "too_large", message: `The body has ${words}.` });
  });

  test("a body is refused that has far more text than a request needs", () => {
    const text = "x".repeat(3 * 1024 * 1024);
    expect(refusal(`{"tag":"${text}"}`)).toMatchObject({ reason: "too_large" });
    expect(parse(`{"payload":"${text}"}`)).toEqual({ payload: raw(`"${text}"`) });
  });

  test("a body whose member constructor stands alone does no harm", () => {
    expect(parse('{"constructor":"Ferrari"}')).toEqual({ constructor: "Ferrari" });
  });
});

describe("depth", () => {
  test.each([
    [nested(3), nested(4)],
    [`{"x":${nested(2)}}`, `{"x":${nested(3)}}`],
    [`{"payload":${nested(3)}}`, `{"payload":${nested(4)}}`],
    [`{"jobs":[{"payload":${nested(3)},"x":1}]}`, '{"jobs":[{"payload":1,"x":[]}]}'],
    [`[{"payload":${nested(3)},"x":[]}]`, `[{"payload":${nested(3)},"x":[[]]}]`],
    [`{"payload":${nested(3)},"x":${nested(2)}}`, `{"payload":[],"x":${nested(3)}}`],
    ['{"payload":"[[[[[[","x":"{{{{"}', `{"payload":${nested(4)},"payload":1}`],
  ])("a body may nest 3 deep and no deeper: %s may, %s may not", (accepted, refused) => {
    expect(() => parse(accepted, "payload", 3)).not.toThrow();
    expect(refusal(refused, "payload", 3).reason).toBe("too_deep");
  });

  test.each(["[", '{"payload":', '{"x":', '[{"payload":[', '{"jobs":['])("16 MiB of %s are answered at once", (piece) => {
    const body = Buffer.from(piece.repeat(Math.ceil(16_777_216 / piece.length)));
    expect(refusal(body)).toMatchObject({ reason: "too_deep", message: expect.stringContaining("64 deep at line 1") });
    expect(refusal(body, null).reason).toBe("too_deep");
  });
});

describe("a long body", () => {
  /** How many slices parsing takes. */
  const slices = (body: string): number => {
    const work = parseJsonBody(Buffer.from(body), { maxDepth: 64, rawMember: "payload" });
    let count = 1;
    while (!work.next().done) count += 1;
    return count;
  };
  const long = 'x\\u00e9\\"é'.repeat(100_000);

  test.each([
    ["a raw string", `{"payload":"${long}"}`],
    ["a raw array", `{"payload":[${"[],".repeat(300_000)}1]}`],
    ["another string", `{"tag":"${long}"}`],
    ["many raw values of any alphabet", `{"jobs":[${Array(1_000).fill(`{"n":"é🌊","payload":{"text":"🌊${"yé".repeat(300)}"}}`)}]}`],
    ["many raw values", `{"jobs":[${Array(1_000).fill(`{"payload":{"text":"${"y".repeat(1_000)}"}}`)}]}`],
  ])("is parsed in slices, and like a short one: %s", (_, body) => {
    expect(slices(body)).toBeGreaterThan(10);
    const value = JSON.parse(body);
    const parsed = parse(body) as { payload?: RawJson; jobs?: { payload: RawJson }[] };
    const shown = (member: unknown) => (member instanceof RawJson ? JSON.parse(member.text) : member);
    expect(JSON.parse(JSON.stringify(parsed, (_name, member) => shown(member)))).toEqual(value);
  });
});

describe("for any body", () => {
  const space = fc.string({ unit: fc.constantFrom(" ", "\n", "\r", "\t"), maxLength: 2 });
  const source = fc.oneof(fc.constantFrom(...delicate), fc.json({ maxDepth: 3, stringUnit: "binary" }));
  const key = fc.constantFrom('"payload"', String.raw`"p\u0061yload"`, '"tag"', '"payloads"', '"n"');
  const harmless = source.filter((text) => !text.includes("proto"));
  const member = fc.record({ key, source: harmless, a: space, b: space, c: space, d: space });
  const job = fc.array(member, { maxLength: 4 }).map((members) => ({
    text: `{${members.map((m) => `${m.a}${m.key}${m.b}:${m.c}${m.source}${m.d}`).join(",")}}`,
    kept: members.findLast((m) => JSON.parse(m.key) === "payload")?.source,
  }));
  const other = harmless.filter((text) => !text.includes("payload"));
  const item = fc.oneof(
    job,
    other.map((text) => ({ text, kept: undefined })),
  );

  const withRaw = (one: { text: string; kept: string | undefined }) => {
    const value = JSON.parse(one.text);
    return one.kept === undefined ? value : { ...value, payload: raw(one.kept) };
  };

  test("the raw members are exact and the rest is what JSON.parse gives", () => {
    fc.assert(
      fc.property(fc.array(item, { maxLength: 5 }), job, space, (items, own, pad) => {
        const list = `[${items.map((one) => pad + one.text + pad).join(",")}]`;
        expect(parse(pad + list + pad)).toEqual(items.map(withRaw));
        const body = own.text === "{}" ? `{"jobs":${list}}` : `${own.text.slice(0, -1)},"jobs"${pad}:${list}${pad}}`;
        expect(parse(body)).toEqual({ ...withRaw(own), jobs: items.map(withRaw) });
      }),
    );
  });

  test("what JSON.parse refuses is refused, with its position, and nothing else", () => {
    const broken = fc
      .tuple(job, fc.nat(), fc.nat(3), fc.constantFrom("", '"', "\\", "{", "]", ",", ":", "1", "\n", "é"))
      .map(([{ text }, position, cut, put]) => {
        const at = position % (text.length + 1);
        return (text.slice(0, at) + put + text.slice(at + cut)).toWellFormed();
      })
      .filter((body) => body !== "");
    fc.assert(
      fc.property(broken, fc.constantFrom("payload", null), (body, rawMember) => {
        const expected = attempt(() => JSON.parse(body));
        if (expected instanceof SyntaxError) expect(refusal(body, rawMember).message).toMatch(/(unexpected .+|early) at line \d/);
        else if (rawMember === null) expect(parse(body, null)).toEqual(expected);
        else expect(parse(body)).toBeDefined();
      }),
      { numRuns: 2_000 },
    );
  });
});
