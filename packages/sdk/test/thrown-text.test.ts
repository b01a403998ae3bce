import { LIMITS } from "@tidemill/contract/limits";
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

const unreadable = Object.defineProperty(new Error("no"), "message", {
  get: () => {
    throw new Error("It cannot be read.");
  },
});
const wrapping = (message: string, cause: unknown) => new Error(message, { cause });
const circle = new Error("a");
circle.cause = wrapping("b", circle);

test.for<[string, Error, { name?: string; message: string }]>([
  ["a message that is no string", Object.assign(new Error("x"), { message: { code: 5 } }), { message: '{"code":5}' }],
  ["a message that is null", Object.assign(new Error("x"), { message: null }), { message: "" }],
  ["a name that is no string", Object.assign(new Error("x"), { name: 42 }), { name: "42", message: "x" }],
  [
    "an AggregateError without a message",
    new AggregateError([new Error("a"), "b", new Error("a")]),
    { name: "AggregateError", message: "a; b" },
  ],
  ["an AggregateError with a message", new AggregateError([new Error("a")], "Not all."), { name: "AggregateError", message: "Not all." }],
  ["a cause", wrapping("fetch failed", new Error("refused")), { message: "fetch failed [cause]: refused" }],
  ["causes of causes", wrapping("a", wrapping("b", new Error("c"))), { message: "a [cause]: b [cause]: c" }],
  ["a cause that is an AggregateError", wrapping("a", new AggregateError([new Error("b"), unreadable])), { message: "a [cause]: b" }],
  ["a cause whose message it has", wrapping("Not paid: declined", new Error("declined")), { message: "Not paid: declined" }],
  ["a cause that has itself as its cause", circle, { message: "a [cause]: b" }],
  ["a cause that cannot be read", wrapping("a", unreadable), { message: "a" }],
  ["a cause that is no Error", wrapping("a", { token: "secret" }), { message: "a" }],
])("the failure of an error with %s", ([, thrown, failure]) => {
  expect(failureOf(thrown)).toEqual({ name: "Error", ...failure });
});

test("the failure of an error with many long causes has the length that the service stores", () => {
  const chainOf = (length: number) =>
    Array.from({ length: 20_000 }, (_, n) => `${n}.`.padEnd(length, "x")).reduce<unknown>(
      (cause, text) => wrapping(text, cause),
      undefined,
    );
  expect(failureOf(chainOf(4_000)).message).toHaveLength(LIMITS.workerErrorLength);
  const causes = ["19998.", "19997.", "19996.", "19995.", "19994."].map((text) => ` [cause]: ${text}`).join("");
  expect(failureOf(chainOf(1)).message).toBe(`19999.${causes}`);
});

test("a job that fails by an object has its JSON as error", async () => {
  const handler = () => {
    throw { code: 42 };
  };
  const settings = { handlers: new Map([["emails", { handler }]]), logger: console } as unknown as WorkerSettings;
  const outcome = await runJob(settings, { id: "job_1", queue: "emails" } as never, new AbortController().signal);
  expect(outcome).toEqual({ outcome: "failed", error: '{"code":42}' });
});
