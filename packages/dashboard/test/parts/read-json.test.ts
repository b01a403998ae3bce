import { expect, test } from "vitest";
import { RawJson } from "../../src/api/raw-json.ts";
import { readJson } from "../../src/api/read-json.ts";
import { writeJson } from "../../src/api/write-json.ts";

test("a payload stays the text that was sent, with every digit and duplicate name", () => {
  const payload = '{ "a": 12345678901234567890, "a": 1.10, "b": "\\"]}\\\\" , "c":[[{}]] }';
  const read = readJson(`{"id":"job_1","payload":${payload},"n":7}`) as { payload: RawJson };
  expect(read).toEqual({ id: "job_1", payload: new RawJson(payload), n: 7 });
  expect(writeJson({ payload: read.payload, tag: undefined, list: [1, null] })).toBe(`{"payload":${payload},"list":[1,null]}`);
});

test("a number that is none is not sent as null, which would mean no limit", () => {
  expect(() => writeJson({ limits: { concurrency: Number("1,000") } })).toThrow("concurrency is not a number.");
});

test("raw members are found at any depth, and null stays null", () => {
  expect(readJson('{"data":[{"payload":null,"result":[1]},{"steps":[{"output":"x","error":null}]}]}')).toEqual({
    data: [{ payload: null, result: new RawJson("[1]") }, { steps: [{ output: new RawJson('"x"'), error: null }] }],
  });
});

test.for(['{"a":[1,2.5,-3e2,true,false,null,"\\u00e9\\n"],"":{},"b":[]}', "[]", '"x"', " 12 "])(
  "everything else is read as JSON.parse reads it: %s",
  (text) => {
    expect(readJson(text)).toEqual(JSON.parse(text));
  },
);

test("a member named __proto__ is a member like any other", () => {
  const read = readJson('{"__proto__":{"admin":true}}') as object;
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  expect(Object.keys(read)).toEqual(["__proto__"]);
});

test.for(['{"a":}', "[1,", '{"a" 1}', '"x', "nul", "1 2", '{"payload":'])("what is not JSON is refused: %s", (text) => {
  expect(() => readJson(text)).toThrow(SyntaxError);
});
