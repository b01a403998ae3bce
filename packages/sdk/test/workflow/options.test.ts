import { cron, event, type WorkflowOptions, workflow } from "@tidemill/sdk";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCron } from "../../../server/src/schedules/cron.ts";

const nothing = () => {};

describe("options of a workflow are checked where they are written", () => {
  test.for<[object, string]>([
    [{ atempts: 3 }, "atempts is not an option of workflow. Did you mean attempts?"],
    [
      { endpointTimeout: 60 },
      "endpointTimeout is not an option of workflow. Pass it to the handler: handler.register({ endpointUrl, endpointTimeout }).",
    ],
    [
      { endpointUrl: "https://example.com" },
      "endpointUrl is not an option of workflow. Pass it to the handler: handler.register({ endpointUrl }).",
    ],
    [{ secret: "cbs_" }, "secret is not an option of workflow. Pass it to the handler: serve({ workflows, secret })."],
    [{ retries: 3 }, "retries is not an option of workflow."],
    [{ id: "a b" }, "id must be letters, digits, dots, hyphens and underscores"],
    [{ id: undefined }, "id must be letters"],
    [{ attempts: 0 }, "attempts of the workflow onboard must be a whole number from 1 to 100, not 0."],
    [{ attempts: "3" }, 'attempts of the workflow onboard must be a whole number from 1 to 100, not "3".'],
    [{ attempts: Number.NaN }, "attempts of the workflow onboard must be a whole number from 1 to 100, not NaN."],
    [{ attempts: 3n }, "attempts of the workflow onboard must be a whole number from 1 to 100, not 3n."],
    [{ concurrency: 1.5 }, "concurrency of the workflow onboard must be a whole number from 1 to 100000, not 1.5."],
    [{ backoff: { delay: -1 } }, "backoff.delay of the workflow onboard must be whole milliseconds, or a string such as"],
    [{ backoff: { delay: "25h" } }, 'of at most 24 hours, not "25h".'],
    [{ backoff: { delay: Number.NaN } }, "of at most 24 hours, not NaN."],
    [{ backoff: { delay: "soon" } }, 'of at most 24 hours, not "soon".'],
    [{ backoff: { dealy: 1 } }, "dealy is not an option of backoff of the workflow onboard. Did you mean delay?"],
    [{ backoff: 1_000 }, "The options of backoff of the workflow onboard must be an object, not number."],
    [{ version: "" }, "version of the workflow onboard must be a string of 1 to 64 characters"],
    [{ onSuccess: "call me" }, "onSuccess of the workflow onboard must be a function."],
    [{ input: {} }, "input must be a schema that follows Standard Schema"],
    [{ on: "user.created" }, 'on takes event("user.created"), cron("0 9 * * *", { timezone }), or a list of these, not "user.created".'],
    [{ on: [event("a"), event("a")] }, 'on has the event "a" more than once.'],
    [{ on: { kind: "event", name: "User" } }, "The name of an event must be"],
  ])("%o: %s", ([options, says]) => {
    expect(() => workflow({ id: "onboard", ...options } as WorkflowOptions<unknown, unknown>, nothing)).toThrow(says);
  });

  test("those that are right are taken", () => {
    const options = { id: "a.b-c_1", attempts: 100, backoff: { delay: "24h" as const }, concurrency: 1, version: "v1", onCancel: nothing };
    expect(workflow({ ...options, on: [event("a"), cron("@daily", { timezone: "UTC" })] }, nothing).id).toBe("a.b-c_1");
    expect(() => workflow({ id: "plain" }, undefined as never)).toThrow("The workflow plain needs a function.");
  });
});

describe("a cron expression", () => {
  test.for<[string, string]>([
    ["* * *", "has 3 fields. It must have 5 (minute, hour, day of month, month, day of week)"],
    ["60 * * * *", 'The cron expression "60 * * * *" has an invalid minute, "60". It must be 0 to 59, or *.'],
    ["0 24 * * *", 'an invalid hour, "24"'],
    ["0 0 0 * *", 'an invalid day of month, "0"'],
    ["0 0 1 JANUARY *", 'The cron expression "0 0 1 JANUARY *" has an invalid month, "JANUARY". It must be 1 to 12, JAN to DEC, or *.'],
    ["0 0 * * 1-8", 'an invalid day of week, "1-8"'],
    ["*/0 * * * *", 'an invalid minute, "*/0"'],
    ["@never", "has 1 fields"],
  ])("%s is refused", ([expression, says]) => {
    expect(() => cron(expression, { timezone: "UTC" })).toThrow(says);
  });

  test.for([
    "0 9 * * *",
    "*/5 * * * * *",
    "0,30 9-17 * * MON-FRI",
    "0 0 L * *",
    "0 0 LW * *",
    "0 0 15W * *",
    "0 0 * * 5L",
    "0 0 * jan,MAR 1#2",
    "0 0 * * mon#L",
    "1-50/7 * 1,15 * 7",
    "@yearly",
  ])("%s is taken", (expression) => {
    expect(cron(expression, { timezone: "Europe/Berlin" })).toEqual({ kind: "cron", expression, timezone: "Europe/Berlin" });
  });

  test("that the service reads is taken", () => {
    const value = fc.constantFrom("*", "0", "1", "5", "12", "23", "31", "59", "60", "JAN", "mon", "L", "LW", "5L", "15W", "MON#2", "x", "");
    const item = fc
      .tuple(value, fc.constantFrom("", "", "-5", "-FRI", "-59"), fc.constantFrom("", "", "/2", "/0", "/61"))
      .map((parts) => parts.join(""));
    const field = fc.oneof(
      fc.constant("*"),
      fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(",")),
    );
    const expression = fc.array(field, { minLength: 5, maxLength: 6 }).map((fields) => fields.join(" "));
    let read = 0;
    fc.assert(
      fc.property(expression, (text) => {
        try {
          readCron(text);
        } catch {
          return;
        }
        read += 1;
        cron(text, { timezone: "UTC" });
      }),
      { numRuns: 3_000 },
    );
    expect(read).toBeGreaterThan(50);
  });

  test("needs a time zone that there is", () => {
    expect(() => cron("@daily", undefined as never)).toThrow("The options of cron must be an object, not undefined.");
    expect(() => cron("@daily", { tz: "UTC" } as never)).toThrow("tz is not an option of cron.");
    for (const timezone of ["Europe/Berln", "+01:00", undefined as never])
      expect(() => cron("@daily", { timezone })).toThrow("timezone must be the IANA name of a time zone");
  });
});
