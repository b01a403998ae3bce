import { TidemillError, type WorkerJob, workflow } from "@tidemill/sdk";
import { describe, expect, test as plain } from "vitest";
import { refusedSource, Sources } from "../src/worker/sources.ts";
import { Log, test } from "./harness/worker.ts";

const quiet = () => {};

describe("a worker whose queue is deleted", () => {
  test("says so once, and goes on for its other queues", async ({ service, worker }) => {
    const [queue, deleted] = [await service.queue(), await service.queue()];
    const log = new Log();
    worker({ [queue]: quiet, [deleted]: quiet }, { logger: log });
    const before = await service.enqueue({ queue: deleted });
    await service.untilState({ queue: deleted, id: before.id }, "completed");
    await service.ok("DELETE", `/v1/queues/${deleted}`);
    for (let n = 0; n < 3; n += 1) {
      const { id } = await service.enqueue({ queue });
      await service.untilState({ queue, id }, "completed");
    }
    expect(log.lines).toMatchObject([{ level: "warn", fields: { queue: deleted, code: "NOT_FOUND" } }]);
  });

  test("goes on for its other queues when it always has something to report", async ({ service, worker }) => {
    const [queue, deleted] = [await service.queue(), await service.queue()];
    const payloads: unknown[] = [];
    const handler = async ({ payload }: WorkerJob<number>) => {
      payloads.push(payload);
      if (payload === 1) await service.ok("DELETE", `/v1/queues/${deleted}`);
      if (payload < 20) await service.enqueue({ queue, payload: payload + 1 });
    };
    worker({ [queue]: handler, [deleted]: quiet }, { concurrency: 1 });
    await service.enqueue({ queue, payload: 1 });
    await expect.poll(() => payloads).toHaveLength(20);
  });
});

test("a worker whose workflow is executed elsewhere from now on goes on for its other workflows and queues", async ({
  service,
  worker,
}) => {
  const queue = await service.queue();
  const [left, moved] = ["left", "moved"].map((id) => workflow({ id }, async () => id));
  const log = new Log();
  const workflows = [left, moved].filter((one) => one !== undefined);
  worker({ [queue]: quiet }, { workflows, logger: log });
  const completed = async (id: string) => {
    const { runIds } = await service.ok("POST", `/v1/workflows/${id}/trigger`, {});
    await expect.poll(async () => (await service.ok("GET", `/v1/runs/${runIds[0]}`)).status).toBe("completed");
  };
  await expect.poll(async () => (await service.api("GET", "/v1/workflows/moved")).status).toBe(200);
  await completed("moved");
  await service.ok("PUT", "/v1/workflows/moved", { endpoint_url: "http://127.0.0.1:9/" });
  for (let n = 0; n < 3; n += 1) {
    await completed("left");
    const { id } = await service.enqueue({ queue });
    await service.untilState({ queue, id }, "completed");
  }
  expect(log.lines).toMatchObject([{ level: "warn", fields: { workflow: "moved", code: "INVALID_STATE" } }]);
});

describe("what a worker asks for", () => {
  const SOURCES = [["emails", "sms"], ["onboard"]] as const;
  const SMS = { kind: "queue", name: "sms" } as const;

  plain("leaves out what is refused, and asks again 30 s later", () => {
    const sources = new Sources(...SOURCES);
    expect(sources.due(0)).toEqual({ queues: ["emails", "sms"], workflows: ["onboard"] });
    expect(sources.refuse(SMS, 1_000)).toBe(true);
    expect([sources.accepted, sources.due(30_999)]).toEqual(Array(2).fill({ queues: ["emails"], workflows: ["onboard"] }));
    expect([sources.isDue(30_999), sources.untilDueMs(30_999)]).toEqual([false, 1]);
    expect([sources.isDue(31_000), sources.due(31_000).queues]).toEqual([true, ["emails", "sms"]]);
    expect(sources.accepted.queues).toEqual(["emails"]);
  });

  plain("is what is new to be refused, or to be accepted again", () => {
    const sources = new Sources(...SOURCES);
    expect([sources.refuse(SMS, 0), sources.refuse(SMS, 30_000)]).toEqual([true, false]);
    expect([sources.accept(sources.accepted), sources.accept(sources.due(60_000)), sources.accept(sources.due(60_000))]).toEqual([
      [],
      [SMS],
      [],
    ]);
    expect(sources.accepted.queues).toEqual(["emails", "sms"]);
  });

  plain("is named by the errors that refuse it", () => {
    const asked = { queues: ["sms"], workflows: ["onboard"] };
    const named = (code: "NOT_FOUND" | "INVALID_STATE" | "FORBIDDEN" | "UNAUTHORIZED", details: Record<string, unknown>) =>
      refusedSource(new TidemillError({ code, message: "", status: 404, details }), asked)?.name ?? null;
    expect(named("NOT_FOUND", { resource: "queue", name: "sms", suggestion: null })).toBe("sms");
    expect(named("NOT_FOUND", { resource: "workflow", name: "onboard", suggestion: null })).toBe("onboard");
    expect(named("NOT_FOUND", { resource: "queue", name: "other", suggestion: null })).toBeNull();
    expect(named("INVALID_STATE", { queue: "sms" })).toBe("sms");
    expect(named("FORBIDDEN", { queue: "sms" })).toBe("sms");
    expect([named("INVALID_STATE", { workflow: "onboard" }), named("FORBIDDEN", { workflow: "onboard" })]).toEqual(["onboard", "onboard"]);
    expect([named("FORBIDDEN", {}), named("UNAUTHORIZED", { queue: "sms" })]).toEqual([null, null]);
  });
});
