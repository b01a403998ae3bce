import { PLANS } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { limitedTo } from "../harness/limits.ts";
import { faultsOf } from "../harness/problem.ts";
import { type Service, test, until } from "../harness/service.ts";

const URL = "https://example.com/hook";
const STOPPED = { code: "PLAN_REQUIRED", message: "The plan free does not have callbacks. The plans pro, team and enterprise do." };

/** Moves a workspace to another plan as the operator API does, but leaves its limits. */
const moveTo = ({ database, key }: Service, plan: string) =>
  database.query("update workspace set plan = $2 where id = (select workspace_id from api_key where hash = sha256($1::text::bytea))", [
    key,
    plan,
  ]);

test("the plans are the specification's", () => {
  expect(PLANS).toEqual({
    free: { price: 0, limits: { executions_per_month: 10_000, requests_per_minute: 60, retention_days: 7 }, features: [] },
    pro: {
      price: 19,
      limits: { executions_per_month: 100_000, requests_per_minute: 300, retention_days: 30 },
      features: ["callback_url", "webhooks"],
    },
    team: {
      price: 99,
      limits: { executions_per_month: 1_000_000, requests_per_minute: 1_000, retention_days: 90 },
      features: ["callback_url", "webhooks"],
    },
    enterprise: {
      price: null,
      limits: { executions_per_month: null, requests_per_minute: null, retention_days: 365 },
      features: ["callback_url", "webhooks"],
    },
  });
});

describe("callback_url", () => {
  test("callback_url is refused on Free, when a queue is made and when it is changed", async ({ service }) => {
    const free = await limitedTo(service, {}, "free");
    await free.ok("POST", "/v1/queues", { name: "plain", callback_url: null });
    const before = await free.ok("GET", "/v1/queues/plain");
    for (const [method, path, body] of [
      ["POST", "/v1/queues", { name: "called", callback_url: URL }],
      ["PATCH", "/v1/queues/plain", { callback_url: URL, callback_timeout: 5 }],
    ] as const) {
      const reply = await free.api(method, path, body);
      expect([...faultsOf(reply, "PLAN_REQUIRED"), reply.body.error.details]).toEqual([
        { feature: "callback_url", plan: "free", required_plans: ["pro", "team", "enterprise"] },
      ]);
      expect(reply.body.error.message).toBe(STOPPED.message);
    }
    expect(await free.ok("GET", "/v1/queues/plain")).toEqual(before);
    expect((await free.api("GET", "/v1/queues/called")).status).toBe(404);
  });

  test.for(["pro", "team", "enterprise"] as const)("callback_url is taken on %s", async (plan, { service }) => {
    const paid = await limitedTo(service, {}, plan);
    expect(await paid.ok("POST", "/v1/queues", { name: "called", callback_url: URL })).toMatchObject({
      callback_url: URL,
      callbacks_stopped: null,
    });
  });
});

describe("a workspace that is moved down to Free", () => {
  test("a workspace that is moved down to Free keeps its queues, whose callbacks stop with a reason, and go on when it is moved up again", async ({
    service,
  }) => {
    const customer = await limitedTo(service, {}, "pro");
    const handler = await customer.handler();
    const queue = () => customer.ok("GET", `/v1/queues/${handler.queue}`);
    await customer.enqueue({ queue: handler.queue });
    await until(() => handler.received.length === 1, "the first job to be delivered");

    await moveTo(customer, "free");
    await until(async () => (await queue()).callbacks_stopped !== null, "the node to hear of the plan");
    expect(await queue()).toMatchObject({ callback_url: handler.url, has_callback_secret: true, callbacks_stopped: STOPPED });
    expect((await customer.ok("GET", "/v1/queues")).data[0]).toMatchObject({ callbacks_stopped: STOPPED });
    // It starts neither at its enqueue, nor by a claim, nor after a poll.
    const job = await customer.enqueue({ queue: handler.queue });
    const delayed = await customer.enqueue({ queue: handler.queue, delay: 1 });
    await customer.advance(1);
    await customer.ok("PATCH", `/v1/queues/${handler.queue}`, { callback_timeout: 60 });
    await until(async () => (await customer.job(delayed)).state === "waiting", "the delayed job to be due");
    const status = await customer.ok("GET", "/v1/status");
    expect([status.status, status.checks[1]]).toEqual([
      "degraded",
      { name: "callbacks", status: "degraded", message: "The plan has no callbacks. Queues that wait for them: 1." },
    ]);
    expect([(await customer.job(job)).state, handler.received.length]).toEqual(["waiting", 1]);

    await moveTo(customer, "team");
    await until(() => handler.received.length === 3, "the jobs to be delivered");
    await until(async () => (await queue()).callbacks_stopped === null, "the node to hear of the plan");
    await customer.close();
  });

  test("a workspace that is moved down to Free may take its callback_url away, and change other settings", async ({ service }) => {
    const customer = await limitedTo(service, {}, "pro");
    await customer.ok("POST", "/v1/queues", { name: "called", callback_url: URL });
    await moveTo(customer, "free");
    await until(async () => (await customer.ok("GET", "/v1/queues/called")).callbacks_stopped !== null, "the node to hear of the plan");
    expect(await customer.ok("PATCH", "/v1/queues/called", { paused: true })).toMatchObject({ paused: true, callbacks_stopped: STOPPED });
    expect(await customer.ok("PATCH", "/v1/queues/called", { callback_url: null })).toMatchObject({
      callback_url: null,
      callbacks_stopped: null,
    });
  });
});
