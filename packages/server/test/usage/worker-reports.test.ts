import { describe, expect } from "vitest";
import { limitedTo, setLimits } from "../harness/limits.ts";
import { test as base, type Service, until } from "../harness/service.ts";
import { proofOf, type Taken, take } from "../harness/workers.ts";

/** A workspace that has used up its requests, with jobs that a worker holds. */
const test = base.extend<"limited", { service: Service; queue: string; held: Taken[] }>("limited", async ({ service: unlimited }) => {
  const service = await limitedTo(unlimited, {});
  const queue = await service.queue();
  for (let payload = 0; payload < 20; payload += 1) await service.enqueue({ queue, payload });
  const held: Taken[] = [];
  // A node that finds changed limits ends the calls of the workspace's workers, which get nothing then.
  await until(async () => held.push(...(await take(service, queue, { limit: 15 - held.length }))) === 15, "the worker to get its jobs");
  await setLimits(service, { requests_per_minute: 1 });
  await expect.poll(async () => (await service.api("GET", "/v1/queues")).status).toBe(429);
  return { service, queue, held };
});

const work = (service: Service, body: object) => service.api("POST", "/v1/work", { worker: "w1", queues: [], ...body });

describe("a workspace that has used up its requests", () => {
  test("its workers report outcomes, and get no jobs with the response", async ({ limited: { service, queue, held } }) => {
    const [job] = held as [Taken];
    const { status, body } = await work(service, { queues: [queue], limit: 5, settle: [{ ...proofOf(job), outcome: "completed" }] });
    expect([status, body.settled, body.jobs]).toEqual([200, [{ id: job.id, ok: true, code: null, message: null }], []]);
  });

  test("its workers extend, complete, fail and hold single jobs", async ({ limited: { service, queue, held } }) => {
    const [first, second, third] = held as [Taken, Taken, Taken];
    const path = `/v1/queues/${queue}/jobs`;
    const replies = [
      await service.api("POST", "/v1/work/extend", { worker: "w1", leases: held.map(proofOf) }),
      await service.api("POST", `${path}/${first.id}/heartbeat`, { lease_token: first.lease_token }),
      await service.api("POST", `${path}/${first.id}/complete`, { lease_token: first.lease_token }),
      await service.api("POST", `${path}/${second.id}/fail`, { lease_token: second.lease_token }),
      await work(service, { settle: [{ ...proofOf(third), outcome: "released" }] }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 204, 204, 200]);
  });

  test("its workers take no jobs", async ({ limited: { service, queue } }) => {
    const replies = [
      await work(service, { queues: [queue] }),
      await service.api("POST", `/v1/queues/${queue}/jobs/claim`, { worker: "w1" }),
    ];
    expect(replies.map(({ status, body }) => [status, body.error.code])).toEqual([
      [429, "RATE_LIMITED"],
      [429, "RATE_LIMITED"],
    ]);
  });

  test("its workers may report ten times as often as its limit says", async ({ limited: { service, held } }) => {
    const statuses = [];
    for (const job of held.slice(0, 12))
      statuses.push((await work(service, { settle: [{ ...proofOf(job), outcome: "completed" }] })).status);
    expect(statuses).toEqual([...Array(10).fill(200), 429, 429]);
  });
});
