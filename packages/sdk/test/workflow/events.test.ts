import { cron, event, TidemillError, workflow } from "@tidemill/sdk";
import { testWorkflow } from "@tidemill/sdk/testing";
import { describe, expect, test } from "vitest";
import { done, MemoryRun } from "./memory-journal.ts";

const userCreated = event<{ userId: string }>("user.created");
const refused = () => Promise.reject(new TidemillError({ code: "QUOTA_EXCEEDED", message: "Used up.", status: 402 }));

describe("a step that sends an event", () => {
  test("sends it, and returns what it started", async () => {
    const run = new MemoryRun(({ step }) => step.sendEvent("tell", { name: userCreated, data: { userId: "u1" }, ts: 5 }));
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: { eventId: "evt_1", runIds: [] } });
    expect(run.events).toEqual([{ name: "user.created", data: { userId: "u1" }, ts: 5 }]);
  });

  test("sends nothing when the journal has it", async () => {
    const run = new MemoryRun(({ step }) => step.sendEvent("tell", { name: "a" }), {
      journal: [done("tell", { eventId: "evt_7" }, "event")],
    });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: { eventId: "evt_7" } });
    expect(run.events).toEqual([]);
  });

  test("is stored in its turn: the workflow sees outcomes in the order of the journal", async () => {
    const seen: string[] = [];
    const run = new MemoryRun(async ({ step }) => {
      const saw = (key: string) => () => void seen.push(key);
      const [b, tell, c] = [step.run("b", () => 2), step.sendEvent("tell", { name: "a" }), step.run("c", () => 3)];
      await Promise.all([b.then(saw("b")), tell.then(saw("tell")), c.then(saw("c"))]);
    });
    await run.execute();
    expect(seen).toEqual(run.keys);
    expect(seen.splice(0)).toHaveLength(3);
    await run.execute();
    expect(seen).toEqual(run.keys);
  });

  test("may stand before a value: no step begins before the value is stored, which a replay would not have else", async () => {
    let began: string[] = [];
    const run = new MemoryRun(({ step, run: { uuid } }) =>
      Promise.all([
        step.sendEvent("first", { name: "a" }).then(() => {
          uuid();
          return step.run("create", () => {
            began = run.keys;
          });
        }),
        step.sendEvent("second", { name: "b" }),
      ]),
    );
    expect(await run.execute()).toMatchObject({ outcome: "completed" });
    expect(began).toEqual(["first", "second", "run.uuid"]);
  });

  test("that is refused fails like any step: it is tried again with the run's next attempt", async () => {
    const run = new MemoryRun(({ step }) => step.sendEvent("tell", { name: "a" }));
    const failed = await run.execute({ sendEvent: refused });
    expect(failed).toMatchObject({ outcome: "failed", error: "Used up.", error_name: "TidemillError" });
    expect(run.journal).toEqual([]);
    expect(await run.execute()).toMatchObject({ outcome: "completed" });
  });

  test("whose failure is caught is remembered as failed when the workflow goes on", async () => {
    const run = new MemoryRun(async ({ step }) => {
      await step.sendEvent("tell", { name: "a" }).catch(() => {});
      return step.run("next", () => "next");
    });
    expect(await run.execute({ sendEvent: refused })).toMatchObject({ outcome: "completed", result: "next" });
    expect(run.journal).toMatchObject([{ key: "tell", type: "event", status: "failed" }, { key: "next" }]);
  });

  test("sends nothing when the lease is lost", async () => {
    const lost = () => Promise.reject(new TidemillError({ code: "LEASE_LOST", message: "Lost.", status: 409 }));
    const run = new MemoryRun(({ step }) => step.sendEvent("tell", { name: "a" }));
    expect(await run.execute({ sendEvent: lost })).toEqual({ outcome: "released" });
  });

  test("names no event with slashes", async () => {
    const run = new MemoryRun(({ step }) => step.sendEvent("tell", { name: "user/created" }));
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: expect.stringContaining("Use dots instead of slashes") });
    expect(() => event("user/created")).toThrow(TypeError);
  });
});

describe("a workflow with cron", () => {
  const nightly = cron("0 2 * * *", { timezone: "Europe/Berlin" });

  test("has null as its input", async () => {
    expect(
      await testWorkflow(
        workflow({ id: "nightly", on: nightly }, ({ input }) => ({ input })),
        { input: null },
      ),
    ).toMatchObject({
      result: { input: null },
    });
  });

  test("has one schedule at most", () => {
    expect(() => workflow({ id: "nightly", on: [nightly, nightly] }, () => {})).toThrow("one cron schedule at most");
  });
});

describe("testWorkflow", () => {
  const tell = workflow({ id: "tell", on: userCreated }, async ({ input, step }) => {
    await step.sendEvent("tell", { name: "user.onboarded", data: { id: input.userId } });
    await step.run("after", () => 1);
  });

  test("lists the events that steps have sent, each once also when executions crash", async () => {
    const { events, status } = await testWorkflow(tell, { input: { userId: "u1" }, crash: "afterEveryStep" });
    expect([status, events]).toEqual([
      "completed",
      [{ name: "user.onboarded", data: { id: "u1" }, ts: Date.parse("2026-01-01T00:00:00Z") }],
    ]);
  });

  test("fails and mocks them by the step's name", async () => {
    expect(await testWorkflow(tell, { input: { userId: "u1" }, fail: { tell: 1 } })).toMatchObject({ attempt: 2, events: [{}] });
    expect(await testWorkflow(tell, { input: { userId: "u1" }, mocks: { tell: { eventId: "e", runIds: [] } } })).toMatchObject({
      events: [],
    });
  });
});
