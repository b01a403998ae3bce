import { Webhook } from "standardwebhooks";
import { describe, expect } from "vitest";
import { test, until } from "../harness/service.ts";
import { Receiver } from "../harness/webhooks.ts";

describe("the delivery of an event", () => {
  test("a job that completes is an event: signed, with the job and its result, without its payload", async ({
    service,
    onTestFinished,
  }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"], headers: { "X-Team": "billing" } });
    const handler = await service.handler({
      answers: { status: 200, body: '{"n":12345678901234567890}', headers: { "content-type": "application/json" } },
    });
    const job = await service.enqueue({ queue: handler.queue, payload: { to: "ada" }, tag: "welcome" });
    await receiver.untilReceived(1);
    const [request] = receiver.server.received;
    const [event] = receiver.events;
    const { payload: _, ...shown } = await service.job({ id: job.id, queue: handler.queue });
    const { attempts_log: __, ...listed } = shown;
    expect(event).toEqual({
      id: expect.stringMatching(/^whk_/),
      type: "job.completed",
      timestamp: "2026-11-21T12:00:00.000Z",
      data: { ...listed },
    });
    expect(request?.raw).toContain('"result": {"n":12345678901234567890}');
    expect(request?.headers).toMatchObject({ "webhook-id": event?.id, "content-type": "application/json", "x-team": "billing" });
    const headers = request?.headers as Record<string, string>;
    // The library compares with the real time.
    const secret = new Webhook(receiver.secret);
    const timestamp = new Date(Number(headers["webhook-timestamp"]) * 1000);
    expect(timestamp.toISOString()).toBe("2026-11-21T12:00:00.000Z");
    expect(secret.sign(headers["webhook-id"] ?? "", timestamp, request?.raw ?? "")).toBe(headers["webhook-signature"]);
    await receiver.untilState("delivered");
    const [delivery] = await receiver.deliveries();
    expect(delivery).toMatchObject({
      event_id: event?.id,
      type: "job.completed",
      state: "delivered",
      requested: false,
      attempts: 1,
      next_attempt_at: null,
      response_status: 200,
      response_body: null,
      last_error: null,
      attempts_log: [{ attempt: 1, status: 200, error: null }],
    });
    expect(await service.ok("GET", `/v1/webhooks/alerts/deliveries/${delivery.id}`)).toEqual({ ...delivery, payload: event });
    expect(await receiver.get()).toMatchObject({ last_success_at: "2026-11-21T12:00:00.000Z", failing_since: null });
  });

  test("a delivery that fails is tried again with growing waits, for three days", async ({ service, clock, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, {
      events: ["job.completed"],
      answers: { status: 404, body: "what is this?" },
    });
    const handler = await service.handler();
    const began = clock.nowMs();
    await service.enqueue({ queue: handler.queue });
    await receiver.untilReceived(1);
    const seconds: number[] = [];
    for (;;) {
      await until(async () => (await receiver.deliveries())[0]?.attempts === receiver.server.received.length);
      const [delivery] = await receiver.deliveries();
      expect(delivery).toMatchObject({ state: "pending", response_status: 404, response_body: "what is this?" });
      const nextMs = Date.parse(delivery.next_attempt_at);
      if (nextMs - began > 3 * 86_400_000) break;
      seconds.push((nextMs - clock.nowMs()) / 1000);
      const { length } = receiver.server.received;
      await service.moveTo(nextMs);
      await receiver.untilReceived(length + 1);
    }
    expect(receiver.server.received.length).toBeGreaterThanOrEqual(14);
    for (const [at, wait] of seconds.entries()) {
      expect(wait).toBeGreaterThanOrEqual(Math.min(5 * 2 ** at, 86_400));
      expect(wait).toBeLessThanOrEqual(Math.min(6 * 2 ** at, 86_400));
    }
    expect(new Set(receiver.server.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    await service.moveTo(began + 3 * 86_400_000);
    await receiver.untilState("failed");
    const [delivery] = await receiver.deliveries();
    expect(delivery).toMatchObject({ attempts: receiver.server.received.length, last_error: { code: "HTTP_STATUS", status: 404 } });
    expect(delivery.attempts_log).toHaveLength(receiver.server.received.length);
    expect(await service.jobStates()).toEqual({});
  });

  test("an endpoint is switched off after five days without a success, and can be switched on again", async ({
    service,
    clock,
    onTestFinished,
  }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"], answers: 500 });
    const handler = await service.handler();
    await service.enqueue({ queue: handler.queue });
    await receiver.untilReceived(1);
    await until(async () => (await receiver.get()).failing_since !== null);
    const began = clock.nowMs();
    await service.moveTo(began + 4 * 86_400_000);
    await service.untilState(await service.enqueue({ queue: handler.queue }), "completed");
    await receiver.untilTaken();
    await until(async () => (await receiver.deliveries()).filter(({ attempts }) => attempts > 0).length === 2);
    expect(await receiver.get()).toMatchObject({ enabled: true, disabled: null });
    await service.moveTo(began + 5 * 86_400_000);
    await until(async () => {
      service.node.wake();
      return !(await receiver.get()).enabled;
    });
    expect(await receiver.get()).toMatchObject({ disabled: { reason: "failing", at: new Date(began + 5 * 86_400_000).toISOString() } });
    // They are cancelled after the webhook was switched off, in transactions of their own.
    await until(async () => (await receiver.deliveries()).every(({ state }) => state !== "pending"));
    expect((await receiver.deliveries()).map(({ state }) => state)).toEqual(["cancelled", "failed"]);
    const { status, checks } = await service.ok("GET", "/v1/status");
    expect([status, checks.find(({ name }: { name: string }) => name === "webhooks").status]).toEqual(["degraded", "degraded"]);
    const { data } = await service.ok("GET", "/v1/audit-events?event_type=webhook.disabled");
    expect(data).toMatchObject([{ actor_id: "system", resource_id: "alerts" }]);
    const { length } = receiver.server.received;
    await service.enqueue({ queue: handler.queue });
    await service.untilIdle();
    expect(await service.database.query("select from event_outbox")).toHaveLength(0);
    receiver.server.answers = 200;
    expect(await service.ok("PATCH", "/v1/webhooks/alerts", { enabled: true })).toMatchObject({ enabled: true, failing_since: null });
    await service.enqueue({ queue: handler.queue });
    await receiver.untilReceived(length + 1);
    await receiver.untilState("delivered");
  });

  test("after a rotation both secrets sign for 24 hours", async ({ service, clock, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"] });
    const { secret, previous_secret_until } = await service.ok("PATCH", "/v1/webhooks/alerts", { rotate_secret: true });
    expect(secret).not.toBe(receiver.secret);
    expect(Date.parse(previous_secret_until) - clock.nowMs()).toBe(86_400_000);
    const verifies = (key: string, at: number) => {
      const { headers, raw } = receiver.server.received[at] ?? { headers: {}, raw: "" };
      const {
        "webhook-id": id = "",
        "webhook-timestamp": seconds,
        "webhook-signature": signatures = "",
      } = headers as Record<string, string>;
      const expected = new Webhook(key).sign(id, new Date(Number(seconds) * 1000), raw);
      return signatures.split(" ").includes(expected);
    };
    await service.ok("POST", "/v1/webhooks/alerts/test");
    await receiver.untilReceived(1);
    expect([verifies(receiver.secret, 0), verifies(secret, 0)]).toEqual([true, true]);
    await service.advance(86_400);
    await service.ok("POST", "/v1/webhooks/alerts/test");
    await receiver.untilReceived(2);
    expect([verifies(receiver.secret, 1), verifies(secret, 1)]).toEqual([false, true]);
    expect(await receiver.get()).toMatchObject({ previous_secret_until: null });
  });
});
