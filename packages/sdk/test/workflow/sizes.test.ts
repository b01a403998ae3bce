import { describe, expect, test } from "vitest";
import { countWithEnd } from "../../src/worker/fit-with-end.ts";
import { httpCall } from "../../src/workflow/http-call.ts";
import { batchSize } from "../../src/workflow/outbox.ts";
import { progressText } from "../../src/workflow/progress.ts";

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
const done = (output: unknown) => ({ key: "a", type: "run", status: "completed", output }) as const;
const nap = { key: "nap", type: "sleep", status: "waiting", sleepFor: 1_000 } as const;
const callWith = (body: unknown) =>
  ({ key: "call", type: "http", status: "waiting", http: { url: "https://example.com/", body } }) as const;

describe("the steps that are reported with the end of an execution", () => {
  test.for([
    { name: "all, if they are small", steps: [done(1), nap, done(2)], count: 3 },
    { name: "those behind the last large one that wait", steps: [done("x".repeat(70_000)), nap], count: 1 },
    { name: "none behind which one ended that does not fit", steps: [nap, done(Array(5_000).fill(0))], count: 0 },
    {
      name: "no calls that have too many values together",
      steps: [callWith(Array(9_000).fill(0)), callWith(Array(8_000).fill(0))],
      count: 1,
    },
    { name: "no large call", steps: [callWith("x".repeat(70_000)), nap], count: 1 },
  ])("are $name", ({ steps, count }) => {
    expect(countWithEnd(steps)).toBe(count);
  });
});

test("calls that have too many values together are stored one after the other", () => {
  const steps = [9_000, 8_000, 2_000].map((count) => callWith(Array(count).fill(0)));
  expect([batchSize(steps), batchSize(steps.slice(1))]).toEqual([1, 1]);
  expect(batchSize([callWith("x"), callWith(1)])).toBe(2);
});

test.for<[string, object]>([
  ["user or password", { url: "https://ada:secret@example.com/" }],
  ["no body", { method: "HEAD", body: 1 }],
  ["15 minutes or less", { timeout: "16m" }],
])("a call that the service would refuse is refused at once: %s", ([error, fields]) => {
  expect(() => httpCall({ url: "https://example.com/", ...fields }, "step")).toThrow(error);
});

test.for([Array(10_001).fill(0), nested(60), JSON.parse('{"__proto__":1}')])(
  "a body of a call that the service would refuse is refused at once",
  (body) => {
    expect(() => httpCall({ url: "https://example.com/", body }, "step")).toThrow("as a string");
    expect(() => httpCall({ url: "https://example.com/", body: JSON.stringify(body) }, "step")).not.toThrow();
  },
);

test.for([nested(60), JSON.parse('{"__proto__":1}')])("progress that the service would refuse is left out", (progress) => {
  expect(() => progressText(progress)).toThrow(TypeError);
});
