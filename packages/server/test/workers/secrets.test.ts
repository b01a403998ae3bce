import { describe, expect } from "vitest";
import { test } from "../harness/service.ts";
import { settle, take, takeOne } from "../harness/workers.ts";

const VALUE = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
const payload = { token: "Bearer ${{ secrets.STRIPE_KEY }}" };

describe("a job with secrets", () => {
  test("its worker gets their values, and what it reports is stored without them", async ({ service }) => {
    await service.ok("POST", "/v1/secrets", { name: "STRIPE_KEY", value: VALUE });
    const queue = await service.queue();
    for (let n = 0; n < 2; n += 1) await service.enqueue({ queue, payload });
    const [first, second] = [await takeOne(service, queue), await takeOne(service, queue)];
    expect(first.payload).toEqual({ token: `Bearer ${VALUE}` });
    await settle(service, first, { outcome: "completed", result: { used: VALUE } });
    await settle(service, second, { outcome: "failed", error: `401 for ${VALUE}`, retry: false });
    expect(await service.job({ queue, id: first.id })).toMatchObject({ payload, result: { used: "[secret:STRIPE_KEY]" } });
    expect((await service.job({ queue, id: second.id })).last_error).toMatchObject({ message: "401 for [secret:STRIPE_KEY]" });
    const { data } = await service.ok("GET", "/v1/audit-events?event_type=secret.accessed");
    expect(data).toHaveLength(2);
    expect(data[0].input).toMatchObject({ queue, host: "worker w1" });
  });

  test("a secret that may only go to some hosts goes to no worker: the attempt fails", async ({ service }) => {
    await service.ok("POST", "/v1/secrets", { name: "STRIPE_KEY", value: VALUE, allowed_hosts: ["api.stripe.com"] });
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, payload, attempts: 1 });
    expect(await take(service, queue)).toEqual([]);
    expect(await service.job({ queue, id })).toMatchObject({ state: "failed", last_error: { code: "SECRET_NOT_ALLOWED" } });
  });

  test("a secret that does not exist fails the attempt", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, payload, attempts: 1 });
    expect(await take(service, queue)).toEqual([]);
    expect(await service.job({ queue, id })).toMatchObject({ state: "failed", last_error: { code: "SECRET_NOT_FOUND" } });
  });

  test("has room in the response, or comes with the next one: no secret is read for it before", async ({ service }) => {
    await service.ok("POST", "/v1/secrets", { name: "LARGE", value: "x".repeat(60 * 1024) });
    const queue = await service.queue();
    const large = "${{ secrets.LARGE }}${{ secrets.LARGE }}";
    await service.ok(
      "POST",
      `/v1/queues/${queue}/jobs/batch`,
      Array.from({ length: 60 }, () => ({ payload: large })),
    );
    const first = await take(service, queue, { limit: 60 });
    expect(first.length).toBeGreaterThanOrEqual(16);
    expect(JSON.stringify(first).length).toBeLessThan(4.5 * 1024 * 1024);
    const { data } = await service.ok("GET", "/v1/audit-events?event_type=secret.accessed");
    const accessed: string[] = data.flatMap(({ input }: { input: { attempts: object } }) => Object.values(input.attempts).flat());
    expect(accessed.toSorted()).toEqual(first.map(({ id }) => id).toSorted());
    const next = await take(service, queue, { limit: 60 });
    expect(next.length).toBeGreaterThanOrEqual(16);
    expect(new Set([...first, ...next].map(({ id }) => id)).size).toBe(first.length + next.length);
    const [late] = next.toReversed();
    expect(await service.job({ queue, id: late?.id ?? "" })).toMatchObject({ attempts: 3 + (late?.attempt ?? 0) - 1 });
  });
});
