import { createHash } from "node:crypto";
import { LIMITS } from "@tidemill/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runSynchronously, type SlicedWork } from "#kernel";
import { Redactor } from "#redaction";
import { anyCharacter } from "../harness/any-character.ts";
import { ENCODERS } from "../harness/encoders.ts";

const RUNS = { numRuns: 60 };
const MARK = "[secret:KEY]";
/** Redacts at once, in place of in slices. */
const atOnce = (redactor: Redactor) => ({
  text: (text: string) => runSynchronously(redactor.text(text)),
  json: (text: string) => runSynchronously(redactor.json(text)),
});
const redactorOf = (value: string): { text(text: string): string; json(text: string): string } => {
  const redactor = atOnce(new Redactor(new Map([["KEY", value]])));
  return { text: (text) => String(redactor.text(text)), json: (text) => String(redactor.json(text)) };
};

/** Ordinary ones, and what breaks out of quotes, patterns, lines and character sets. */
const character = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 1 }) },
  fc.constantFrom(
    "'",
    '"',
    "\\",
    "\n",
    "\r",
    "\t",
    "\0",
    "%",
    "&",
    "<",
    "+",
    "=",
    "/",
    "$",
    "`",
    "}",
    "{",
    "[",
    "(",
    "*",
    "?",
    "|",
    "^",
    ";",
    " ",
  ),
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }).map((unit) => unit.toWellFormed()),
  fc.constantFrom("é", "ÿ", "ß", "\u00a0", "中", "🌊"),
);
/** A secret that no text of {@link around} contains by chance. */
const secret = fc.array(character, { minLength: 8, maxLength: 50 }).map((parts) => `K9${parts.join("")}7w`);
/** What stands around: nothing that makes one escape, or one number, with the secret's own first or last character. */
const around = fc
  .array(fc.constantFrom(" the", " token ", "é", "🌊 ", '"', ".\n", " 42 ", "K9 ", " ("), { maxLength: 6 })
  .map((parts) => `${parts.join("")}. `);

describe.for(Object.entries(ENCODERS))("a secret's value written as: %s", ([, encode]) => {
  test("an encoded secret's value does not survive in a text, and nothing else is lost", () => {
    fc.assert(
      fc.property(secret, around, around, (value, before, after) => {
        const redacted = redactorOf(value).text(`${before}${encode(value)} ${after}`);
        expect(redacted).not.toContain(encode(value));
        expect(redacted).toContain(MARK);
        expect(redacted.startsWith(before) && redacted.endsWith(` ${after}`)).toBe(true);
      }),
      RUNS,
    );
  });

  test("an encoded secret's value does not survive in a JSON text's strings or keys", () => {
    fc.assert(
      fc.property(secret, around, (value, other) => {
        const text = encode(value);
        const redacted = redactorOf(value).json(JSON.stringify({ [text]: 1, list: [{ text }, other, 1.5] }));
        expect(redacted).not.toContain(JSON.stringify(text).slice(1, -1));
        expect(Object.keys(JSON.parse(redacted) as object)[0]).toContain(MARK);
        expect(JSON.parse(redacted)).toMatchObject({ list: [{ text: expect.stringContaining(MARK) }, other, 1.5] });
      }),
      RUNS,
    );
  });
});

const OUTER = Object.entries({
  base64: (text: string) => Buffer.from(text).toString("base64"),
  "base64 after other digits": (text: string) =>
    `Basic/${Buffer.from(`${text}${" ".repeat(5 - (Buffer.byteLength(text) % 3))}`).toString("base64")}`,
  "base64 in lines": (text: string) =>
    (
      Buffer.from(text)
        .toString("base64")
        .match(/.{1,20}/g) ?? []
    ).join("\r\n"),
  base64url: (text: string) => Buffer.from(text).toString("base64url"),
  "base64url in a path": (text: string) => `/a/path/${Buffer.from(text).toString("base64url")}`,
  hex: (text: string) => Buffer.from(text).toString("hex"),
  "hex with colons": (text: string) => (Buffer.from(text).toString("hex").match(/../g) ?? []).join(":").toUpperCase(),
  "hex with 0x": (text: string) => Array.from(Buffer.from(text), (byte) => `0x${byte.toString(16).padStart(2, "0")}`).join(", "),
});

describe.for(OUTER)("a secret's value inside %s", ([name, outer]) => {
  test.for(Object.entries(ENCODERS))("an encoded secret's value does not survive: %s", ([, encode]) => {
    fc.assert(
      fc.property(secret, around, (value, other) => {
        const text = outer(`{"other":"${other}","value":"${encode(value)}"}`);
        const redacted = redactorOf(value).text(`${other}("${text}")`);
        expect([redacted.startsWith(`${other}("`), redacted.includes(MARK), redacted.endsWith('")')]).toEqual([true, true, true]);
        const digitsPerByte = name.startsWith("hex") ? 2 : 4 / 3;
        const left = redacted.length - MARK.length - 2 * other.length - 4;
        expect(text.length - left).toBeGreaterThanOrEqual(Math.floor(digitsPerByte * Buffer.byteLength(value)));
        expect(JSON.parse(redactorOf(value).json(JSON.stringify({ text, other })))).toMatchObject({
          text: expect.stringContaining(MARK),
          other,
        });
      }),
      { numRuns: 4 },
    );
  });
});

test("a run of digits is found wherever it stands, as it is and escaped", () => {
  const run = Buffer.from(encodeURIComponent("the secret value")).toString("base64");
  const redacted = redactorOf("the secret value").json(JSON.stringify([run, run.replace("J", "\\u004a"), run]));
  expect(JSON.parse(redacted)).toEqual([MARK, MARK, MARK]);
});

test("short values, and texts without the values, leave digits as they are", () => {
  const text = Buffer.from("k9x and other words").toString("base64");
  expect(redactorOf("k9x").text(text)).toBe(text);
  expect(redactorOf("another value").text(text)).toBe(text);
});

describe("a text without the values", () => {
  test("a text without the values comes back as it was", () => {
    const other = fc.string({ unit: anyCharacter, maxLength: 200 });
    fc.assert(fc.property(secret, other, (value, text) => void expect(redactorOf(value).text(text)).toBe(text)));
  });

  test("a text without the values comes back byte for byte when it is JSON", () => {
    fc.assert(
      fc.property(secret, fc.json({ stringUnit: "binary" }), (value, text) => void expect(redactorOf(value).json(text)).toBe(text)),
    );
    const text = ' { "a" : 1.50, "a": 123456789012345678901234567890, "\\u0062": [ ] }\n';
    expect(redactorOf("the secret value").json(text)).toBe(text);
  });
});

describe("a JSON text with values stays JSON", () => {
  test("a JSON text stays JSON wherever values stand in it", () => {
    const value = fc.constantFrom("5", "true", "e", '"', "\\", ":", "{}", ",", '","', " ", "[secret", "K\n9", "\\u0022", "12.5", "[]");
    fc.assert(
      fc.property(value, fc.json({ noUnicodeString: false, depthSize: "medium" }), value, (value, text, echoed) => {
        expect(() => JSON.parse(redactorOf(value).json(text))).not.toThrow();
        expect(() => JSON.parse(redactorOf(value).json(JSON.stringify([echoed, { [value]: text }])))).not.toThrow();
      }),
      { numRuns: 1_000 },
    );
  });

  test("a JSON text stays JSON where a number that holds a value becomes a string", () => {
    expect(redactorOf("31415926").json('{"n":131415926.50,"m":[31415926,2,-31415926e3]}')).toBe(
      `{"n":"1${MARK}.50","m":["${MARK}",2,"-${MARK}e3"]}`,
    );
  });

  test("a JSON text stays JSON with a value that was kept as a floating point number", () => {
    const text = "[12345678901234567890, 12345678901234567000, 1.2345678901234567e+19, 1.2345678901234567e19]";
    expect(redactorOf("12345678901234567890").json(text)).toBe(`["${MARK}", "${MARK}", "${MARK}", "${MARK}"]`);
  });

  test("a JSON text stays JSON where literals that are a value become strings", () => {
    expect(redactorOf("false").json('[true,false,null,"false"]')).toBe(`[true,"${MARK}",null,"${MARK}"]`);
  });

  test("a JSON text stays JSON, and what else it says is as it was", () => {
    const text = '{ "big" : 123456789012345678901234567890, "echo":"the secret", "\\u0062" : 1.50 }';
    expect(redactorOf("the secret").json(text)).toBe(text.replace("the secret", MARK));
  });

  test("a JSON text becomes a single string when a value is JSON itself and stands there unquoted", () => {
    const account = '{"type":"account","key":"7w2M9qk"}';
    expect(JSON.parse(redactorOf(account).json(`{"got":${account}}`))).toBe(`{"got":${MARK}}`);
    expect(JSON.parse(redactorOf(':"the sec').json('{"got":"the secret"}'))).toBe(`{"got"${MARK}ret"}`);
    expect(JSON.parse(redactorOf('":"the sec').json('{"got":"the secret"}'))).toBe(`{"got${MARK}ret"}`);
  });
});

describe("several values", () => {
  const redact = (text: string, values: Record<string, string>) => atOnce(new Redactor(new Map(Object.entries(values)))).text(text);

  test("several values are each replaced by their own name", () => {
    expect(redact("a first-one, a second-one", { A: "first-one", B: "second-one" })).toBe("a [secret:A], a [secret:B]");
  });

  test("several values that overlap are one, named by the longest", () => {
    expect(redact("-one-two-three-", { A: "one-two", B: "two-three" })).toBe("-[secret:B]-");
    expect(redact("-one-two-three-", { A: "two", B: "one-two-three", C: "three" })).toBe("-[secret:B]-");
    expect(redact("-one-two-", { A: "one-two", B: "one-two" })).toBe("-[secret:A]-");
  });

  test("several values are not looked for in what stands for another", () => {
    expect(redact("value", { SECRET: "value", B: "secret", C: "[" })).toBe("[secret:SECRET]");
  });
});

describe("a value", () => {
  test("a value that overlaps itself leaves nothing behind", () => {
    expect(redactorOf("abaXaba").text("-abaXabaXaba-")).toBe(`-${MARK}-`);
    const long = "abc".repeat(200);
    expect(redactorOf(long).text(`-${long}abc${long}a-`)).toBe(`-${MARK}a-`);
  });

  test("a value of one character is replaced where it stands, and not what its encodings happen to be", () => {
    expect(redactorOf("7").text("37, not 0x37 or Nw==")).toBe(`3${MARK}, not 0x3${MARK} or Nw==`);
  });

  test("a value of three characters is looked for as it is, one of four in its encodings, too", () => {
    const text = (value: string) => `${value} ${Buffer.from(value).toString("hex")}`;
    expect(redactorOf("k9x").text(text("k9x"))).toBe(`${MARK} 6b3978`);
    expect(redactorOf("k9xz").text(text("k9xz"))).toBe(`${MARK} ${MARK}`);
  });

  test("a value that is a very long number is not taken for infinity", () => {
    expect(redactorOf("9".repeat(400)).text("Infinity")).toBe("Infinity");
  });

  test("a value that is JSON's structure is not found in it", () => {
    expect(redactorOf(",").json('[1,"a,b"]')).toBe(`[1,"a${MARK}b"]`);
    expect(redactorOf('"').json('["a","\\""]')).toBe(`["a","${MARK}"]`);
  });

  test("a value is found through two escapings one inside the other, of JSON's strings two more", () => {
    const value = 'K9 "quoted" & %41/é';
    const text = encodeURIComponent(JSON.stringify(ENCODERS.html?.(value)));
    expect(redactorOf(value).text(text)).toBe(`%22${MARK}%22`);
    expect(redactorOf(value).json(JSON.stringify(text))).toBe(`"%22${MARK}%22"`);
  });

  test.for([0, 1, 2, 3])("a value in base64 after %i bytes leaves no digit that holds a bit of it", (lead) => {
    const kept = (value: string) => redactorOf(value).text(Buffer.from(`${"x".repeat(lead)}${value}y`).toString("base64"));
    expect(kept("ÿ0123456789ÿ")).toBe(kept("\0\0ABCDEFGHIJ\0\0"));
  });

  test("a value that is empty takes nothing away", () => {
    expect(redactorOf("").text("text")).toBe("text");
  });
});

const MOST_BYTES = 64 * 1024;
const filled = (piece: string, length = MOST_BYTES): string => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
/** A secret that cannot be confused with other text. */
const ordinary = (number: number): string => `tok${number}-${createHash("sha256").update(`${number}`).digest("base64")}`;
const secretsOf = (values: readonly string[]) => atOnce(new Redactor(new Map(values.map((value, number) => [`S${number}`, value]))));
const HUNDRED = Array.from({ length: 100 }, (_, number) => number);
const HOSTILE = "%2541\\u0026#65;=3D41aaaa";

describe("a text of 64 KiB is looked through", () => {
  test.for([
    ["that is its value", "qwErty 1234!".repeat(5_400), "qwErty 1234!".repeat(5_400)],
    ["of escapes", "0123456789", '\\u0041%25&amp;=41\\"+'.repeat(3_000)],
    ["of escapes in escapes", "0123456789", filled(`%${"25".repeat(30)}41`)],
    ["of quotes", "0123456789", '"'.repeat(MOST_BYTES)],
  ] as const)("a text of 64 KiB is looked through: %s", ([, value, text]) => {
    expect(redactorOf(value).text(text)).toBe(text.includes(value) ? MARK : text);
    expect(JSON.parse(redactorOf(value).json(JSON.stringify(text)))).toBe(text.includes(value) ? MARK : text);
  });

  test("a text of 64 KiB is looked through for a hundred secrets among the hardest escapes", () => {
    const values = HUNDRED.map(ordinary);
    const echoed = encodeURIComponent(values.join(" "));
    const redacted = secretsOf(values).text(`${filled(HOSTILE, MOST_BYTES - echoed.length)}${echoed}`);
    expect(redacted).toContain(HUNDRED.map((number) => `[secret:S${number}]`).join("%20"));
  });
});

/** How often the work yields, and its result. */
function pausesOf(work: SlicedWork<string | null>): { pauses: number; result: string | null } {
  for (let pauses = 0; ; pauses += 1) {
    const step = work.next();
    if (step.done) return { pauses, result: step.value };
  }
}

describe("in slices", () => {
  const redactorFor = (values: readonly string[]) => new Redactor(new Map(values.map((value, number) => [`S${number}`, value])));

  test("in slices, a long text is looked through", () => {
    const { pauses, result } = pausesOf(redactorFor(HUNDRED.map(ordinary)).text(`${filled(HOSTILE, 60_000)}${ordinary(7)}`));
    expect(pauses).toBeGreaterThan(20);
    expect(result).toMatch(/\[secret:S7\]$/);
  });

  test.for(['"', "'", "\\", "é", "%2541"])("in slices, the encodings of a long value of %s are made", (piece) => {
    const { pauses, result } = pausesOf(redactorFor([filled(piece, LIMITS.secretBytes / Buffer.byteLength("é"))]).text(filled("zuiop")));
    expect(pauses).toBeGreaterThan(20);
    expect(result).toBe(filled("zuiop"));
  });

  test("in slices, the encodings of a hundred long values are made", () => {
    const values = HUNDRED.map((number) => filled(`${ordinary(number)} `, 10_000));
    expect(pausesOf(redactorFor(values).text(filled("zuiop"))).pauses).toBeGreaterThan(140);
  });

  test("in slices, the encodings of a hundred short values are made", () => {
    const { pauses, result } = pausesOf(redactorFor(HUNDRED.map((number) => `${ordinary(number).slice(0, 19)}+`)).text("x"));
    expect(pauses).toBeGreaterThanOrEqual(4);
    expect(result).toBe("x");
  });

  test("in slices, runs of digits are read and decoded", () => {
    const runs = Array.from({ length: 1_500 }, (_, number) => Buffer.from(`${number} the value ${number}`).toString("base64"));
    expect(pausesOf(redactorFor(["the secret value"]).text(runs.join(" "))).pauses).toBeGreaterThan(6);
  });

  test("in slices, several texts are looked through at once with the same values", () => {
    const redactor = redactorFor(HUNDRED.map(ordinary));
    const works = [redactor.text(`${filled(HOSTILE, 60_000)}${ordinary(7)}`), redactor.text(`x${ordinary(9)}`)];
    const results = new Map<number, string | null>();
    while (results.size < works.length) {
      for (const [index, work] of works.entries()) {
        const step = work.next();
        if (step.done && !results.has(index)) results.set(index, step.value);
      }
    }
    expect(results.get(0)).toMatch(/\[secret:S7\]$/);
    expect(results.get(1)).toBe("x[secret:S9]");
  });
});

describe("nothing is kept of a text", () => {
  const inOne = (value: string) => [value];
  test.for([
    ["for one letter that stands everywhere", inOne("a"), filled(HOSTILE)],
    ["for ten letters", [..."abcdefghij"], filled("abcdefghij")],
    ["for a hundred short values", HUNDRED.map((number) => String(number)), filled("0123456789")],
    ["for a value that overlaps itself everywhere", inOne("a".repeat(32_768)), "a".repeat(MOST_BYTES)],
    ["for a value that nearly stands everywhere", inOne(`${"a".repeat(32_768)}b`), "a".repeat(MOST_BYTES)],
    ["for a hundred that begin as the text does", HUNDRED.map((number) => `${"a".repeat(30)}${number}`), "a".repeat(MOST_BYTES)],
    ["for more of values than can be encoded", [1, 2].map((number) => filled(`${number}qwErty`)), filled("zuiop")],
  ] as const)("nothing is kept of a text that takes too much work: %s", ([, values, text]) => {
    expect(secretsOf(values).text(text)).toBeNull();
    expect(secretsOf(values).json(JSON.stringify([text, values]))).toBeNull();
  });

  test("nothing is kept of a text that marks make longer than 64 KiB", () => {
    const text = (bytes: number) => `the-value ${"x".repeat(bytes - 10)}`;
    const grows = MARK.length - "the-value".length;
    expect(redactorOf("the-value").text(text(MOST_BYTES - grows))).toHaveLength(MOST_BYTES);
    expect(atOnce(new Redactor(new Map([["KEY", "the-value"]]))).text(text(MOST_BYTES - grows + 1))).toBeNull();
  });
});

describe("a value that comes back in another layout", () => {
  const PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQ\n-----END KEY-----\n";
  const redactor = atOnce(
    new Redactor(
      new Map([
        ["KEY", PEM],
        ["TOKEN", " padded with spaces "],
      ]),
    ),
  );

  test.for([
    ["trimmed, as headers are", "got padded with spaces"],
    ["with the line breaks of Windows", `got ${PEM.replaceAll("\n", "\r\n")}`],
    ["without its last line break", `got ${PEM.trim()}`],
    ["without line breaks", `got ${PEM.replaceAll("\n", "")}`],
    ["trimmed, in base64", `got ${btoa(PEM.trim())}`],
  ])("a value that comes back in another layout is found %s", ([, text = ""]) => {
    expect(redactor.text(text)).toMatch(/^got \[secret:(KEY|TOKEN)\]$/);
  });
});
