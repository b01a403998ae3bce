import { describe, expect } from "vitest";
import { limitedTo } from "../harness/limits.ts";
import { joinedBy } from "../harness/nodes.ts";
import { everythingStored } from "../harness/problem.ts";
import { type Service, test } from "../harness/service.ts";

const single = (service: Service, queue: string, idempotencyKey: string, payload: unknown = 1) =>
  service.api("POST", `/v1/queues/${queue}/jobs`, { payload, idempotencyKey });
const batch = (service: Service, queue: string, keys: readonly (string | null)[]) =>
  service.api(
    "POST",
    `/v1/queues/${queue}/jobs/batch`,
    keys.map((key) => ({ payload: 1, ...(key !== null && { idempotencyKey: key }) })),
  );
const usedOf = async (service: Service): Promise<number> => (await service.ok("GET", "/v1/status")).quota.used;

describe("the month's executions, with idempotency keys,", () => {
  test("the month's executions are used by a key once, and duplicates are answered when none are left", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 2 });
    const queue = await limited.queue();
    const first = await single(limited, queue, "a");
    expect([(await single(limited, queue, "a")).status, await usedOf(limited)]).toEqual([200, 1]);
    expect((await single(limited, queue, "b")).status).toBe(201);
    expect((await single(limited, queue, "c")).status).toBe(402);
    const again = await single(limited, queue, "a");
    expect([again.status, again.body]).toEqual([200, { ...first.body, duplicate: true }]);
    expect((await batch(limited, queue, ["b", "a", "b"])).status).toBe(200);
    expect(await usedOf(limited)).toBe(2);
  });

  test("the month's executions are counted for the new jobs of a batch alone", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 3 });
    const queue = await limited.queue();
    await single(limited, queue, "a");
    expect((await batch(limited, queue, ["a", "b", null, "c"])).status).toBe(402);
    expect((await batch(limited, queue, ["a", "b", "b", "c"])).status).toBe(201);
    expect(await usedOf(limited)).toBe(3);
  });

  test("the month's executions leave nothing behind when they refuse a job: no key, no row", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const queue = await limited.queue();
    await single(limited, queue, "a");
    const before = await everythingStored(service.database);
    expect([(await single(limited, queue, "b")).status, (await batch(limited, queue, ["a", "c", "d"])).status]).toEqual([402, 402]);
    expect(await everythingStored(service.database)).toEqual(before);
  });

  test("the month's executions are not used by a mismatch", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 2 });
    const queue = await limited.queue();
    await single(limited, queue, "a");
    expect((await single(limited, queue, "a", 2)).status).toBe(422);
    expect(await usedOf(limited)).toBe(1);
  });

  test("the month's executions are used by 64 clients on two nodes once for each key, up to the limit", async ({
    service,
    onTestFinished,
  }) => {
    const limited = await limitedTo(service, { executions_per_month: 20 });
    const other = await joinedBy(limited);
    onTestFinished(() => other.node.stop());
    const queue = await limited.queue();
    const replies = await Promise.all(
      Array.from({ length: 64 * 4 }, async (_, n) => {
        const key = `key-${n % 30}`;
        return { key, ...(await single(n % 2 === 0 ? limited : other, queue, key)) };
      }),
    );
    const accepted = replies.filter(({ status }) => status === 201);
    expect([accepted.length, new Set(accepted.map(({ key }) => key)).size, await usedOf(limited)]).toEqual([20, 20, 20]);
    const known = new Map(accepted.map(({ key, body }) => [key, body.id]));
    for (const { key, status, body } of replies) {
      if (status === 402) continue;
      expect(body.id).toBe(known.get(key));
    }
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 201, 402]));
  });
});
