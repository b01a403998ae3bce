import { expect, test } from "vitest";
import { thrownText } from "../src/thrown-text.ts";
import type { WorkerSettings } from "../src/worker/options.ts";
import { runJob } from "../src/worker/run-job.ts";
import { failureOf } from "../src/workflow/failure.ts";

const circular: { self?: unknown } = {};
circular.self = circular;
const silent = Object.assign(Object.create(null), {
  toJSON() {
    throw new Error("no");
  },
});

test.for<[unknown, string | null]>([
  ["text", "text"],
  [undefined, "undefined"],
  [Symbol("s"), "Symbol(s)"],
  [{ a: 1 }, '{"a":1}'],
  [[1, { a: 1 }], '[1,{"a":1}]'],
  [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  [new URL("https://example.com/"), "https://example.com/"],
  [{ toString: () => "says what it is" }, "says what it is"],
  [circular, "[object Object]"],
  [{}, "[object Object]"],
  [Object.create(null), null],
  [silent, null],
])("the text of %s", ([thrown, text]) => {
  expect(thrownText(thrown)).toBe(text);
});

test("a step or run that fails by an object has its JSON as message", () => {
  expect(failureOf({ code: 42 })).toEqual({ name: "Error", message: '{"code":42}' });
});

test("a job that fails by an object has its JSON as error", async () => {
  const handler = () => {
    throw { code: 42 };
  };
  const settings = { handlers: new Map([["emails", { handler }]]), logger: console } as unknown as WorkerSettings;
  const outcome = await runJob(settings, { id: "job_1", queue: "emails" } as never, new AbortController().signal);
  expect(outcome).toEqual({ outcome: "failed", error: '{"code":42}' });
});
