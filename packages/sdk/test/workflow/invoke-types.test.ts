import { type Duration, type Step, type WorkflowContext, workflow } from "@tidemill/sdk";
import { expectTypeOf, test } from "vitest";

// Types are checked by `npm run check`. No line of these functions runs.
const unread = (_use: (step: Step) => unknown) => {};

const billing = workflow({ id: "billing.start" }, ({ input }: WorkflowContext<{ userId: string }>) => ({
  of: input.userId,
  at: new Date(),
}));
const nightly = workflow({ id: "nightly" }, () => 1);

test("an invocation of a workflow has the types of its input and its result", () => {
  unread(async (step) => {
    const invoked = await step.invoke("bill", { workflow: billing, input: { userId: "u1" }, timeout: "1h" });
    expectTypeOf(invoked).toEqualTypeOf<{ readonly result: { of: string; at: string }; readonly runId: string }>();
    // @ts-expect-error: `userId` is a string.
    await step.invoke("bill", { workflow: billing, input: { userId: 1 }, timeout: "1h" });
    // @ts-expect-error: the workflow needs an input.
    await step.invoke("bill", { workflow: billing, timeout: "1h" });
    // @ts-expect-error: there is no such option.
    await step.invoke("bill", { workflow: billing, input: { userId: "u1" }, timeout: "1h", retries: 3 });
    expectTypeOf((await step.invoke("nightly", { workflow: nightly, timeout: 1 })).result).toEqualTypeOf<number>();
  });
});

test("an invocation by id takes any input, and its result is unknown", () => {
  unread(async (step) => {
    expectTypeOf((await step.invoke("bill", { workflow: "billing.start", input: { n: 1 }, timeout: "1h" })).result).toBeUnknown();
    await step.invoke("bill", { workflow: "billing.start", timeout: "1h" });
    // @ts-expect-error: this is no workflow.
    await step.invoke("bill", { workflow: { id: "billing.start" }, timeout: "1h" });
  });
});

// Specification, Workflow behavior 1.
test("an invocation needs a timeout of at most 24 hours", () => {
  unread((step) => {
    const of = "billing.start";
    // @ts-expect-error: the timeout is missing.
    void step.invoke("bill", { workflow: of });
    // @ts-expect-error: the timeout is missing.
    void step.invoke("bill", { workflow: of, timeout: undefined });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: of, timeout: "25h" });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: of, timeout: "24.5h" });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: of, timeout: "100h" });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: of, timeout: "2d" });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: of, timeout: "1.01d" });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: of, timeout: "1441m" });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: of, timeout: "86401s" });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: of, timeout: "86400001ms" });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: of, timeout: 86_400_001 });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: of, timeout: 1e21 });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: of, timeout: "1h" as "1h" | "25h" });
    // @ts-expect-error: more than 24 hours.
    void step.invoke("bill", { workflow: billing, input: { userId: "u1" }, timeout: "25h" });
    // @ts-expect-error: there is no such unit.
    void step.invoke("bill", { workflow: of, timeout: "1 fortnight" });

    void step.invoke("bill", { workflow: of, timeout: "24h" });
    void step.invoke("bill", { workflow: of, timeout: "024.0h" });
    void step.invoke("bill", { workflow: of, timeout: "23.9h" });
    void step.invoke("bill", { workflow: of, timeout: "9h" });
    void step.invoke("bill", { workflow: of, timeout: "1d" });
    void step.invoke("bill", { workflow: of, timeout: "0.5d" });
    void step.invoke("bill", { workflow: of, timeout: "1440m" });
    void step.invoke("bill", { workflow: of, timeout: "999m" });
    void step.invoke("bill", { workflow: of, timeout: "86400s" });
    void step.invoke("bill", { workflow: of, timeout: "86400000ms" });
    void step.invoke("bill", { workflow: of, timeout: 86_400_000 });
    void step.invoke("bill", { workflow: of, timeout: 79_999_999 });
    const [text, ms, hours] = ["48h" as Duration, 172_800_000 as number, `${Number("48")}h` as const];
    void step.invoke("bill", { workflow: of, timeout: text });
    void step.invoke("bill", { workflow: of, timeout: ms });
    void step.invoke("bill", { workflow: of, timeout: hours });
    void step.invoke("bill", { workflow: of, timeout: ms > 1 ? "12h" : ms });
  });
});
