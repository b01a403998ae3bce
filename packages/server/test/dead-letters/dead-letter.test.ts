import type { AttemptError } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { type JobId, typeId } from "#kernel";
import { laneOf, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { newWorkspace, Service } from "../harness/service.ts";

const idsOf = (reply: { data: { id: string }[] }) => reply.data.map(({ id }) => id);
const shown = (ids: JobId[]) => ids.map((id) => typeId("job", id));

/** Two queues with failed jobs, oldest first. */
async function twoQueues({ service, database }: Pick<Service, "database"> & { service: Service }) {
  const queues = [await service.queue(), await service.queue()] as const;
  const put = async (queue: string, tag: string, errorCode: AttemptError, count = 1) =>
    shown(await putJobs(database, await laneOf(service, queue), { state: "failed", tag, errorCode, count }));
  return {
    queues,
    jobs: {
      aTimeout: await put(queues[0], "a", "TIMEOUT", 2),
      bTimeout: await put(queues[1], "b", "TIMEOUT"),
      aDns: await put(queues[1], "a", "DNS"),
      bStatus: await put(queues[0], "b", "HTTP_STATUS"),
    },
  };
}

describe("the dead-letter queue", () => {
  test("the dead-letter queue lists the failed jobs of all queues of the workspace, newest first", async ({ service, database }) => {
    const { queues, jobs } = await twoQueues({ service, database });
    await service.enqueue({ queue: queues[0] });
    const reply = await service.ok("GET", "/v1/dlq");
    expect(idsOf(reply)).toEqual([...jobs.bStatus, ...jobs.aDns, ...jobs.bTimeout, ...jobs.aTimeout.toReversed()]);
    expect(reply.next_cursor).toBeNull();
    const { attempts_log: _, ...record } = await service.job(reply.data[0]);
    expect(reply.data[0]).toEqual(record);
    expect(reply.data.map(({ queue }: { queue: string }) => queue)).toEqual([queues[0], queues[1], queues[1], queues[0], queues[0]]);
  });

  test("the dead-letter queue has the job that used up its attempts, with the reason", async ({ service }) => {
    const handler = await service.handler({ answers: 503 });
    const job = await service.enqueue({ queue: handler.queue, attempts: 2 });
    await service.untilIdle();
    expect((await service.ok("GET", "/v1/dlq")).data).toMatchObject([
      { id: job.id, state: "failed", attempt: 2, last_error: { code: "HTTP_STATUS", status: 503 } },
    ]);
  });

  test("the dead-letter queue can be filtered by queue, tag and error; commas mean or, and filters together mean and", async ({
    service,
    database,
  }) => {
    const { queues, jobs } = await twoQueues({ service, database });
    const list = async (query: string) => idsOf(await service.ok("GET", `/v1/dlq?${query}`));
    expect(await list(`queue=${queues[0]}`)).toEqual([...jobs.bStatus, ...jobs.aTimeout.toReversed()]);
    expect(await list(`queue=${queues[0]},${queues[1]}`)).toHaveLength(5);
    expect(await list("queue=nowhere")).toEqual([]);
    expect(await list("tag=b")).toEqual([...jobs.bStatus, ...jobs.bTimeout]);
    expect(await list("tag=a,b")).toHaveLength(5);
    expect(await list("error=TIMEOUT")).toEqual([...jobs.bTimeout, ...jobs.aTimeout.toReversed()]);
    expect(await list("error=DNS,HTTP_STATUS")).toEqual([...jobs.bStatus, ...jobs.aDns]);
    expect(await list("error=DNS&error=HTTP_STATUS")).toEqual([...jobs.bStatus, ...jobs.aDns]);
    expect(await list(`queue=${queues[1]}&tag=a&error=DNS`)).toEqual(jobs.aDns);
    expect(await list(`queue=${queues[0]}&tag=a&error=DNS`)).toEqual([]);
  });

  test("the dead-letter queue refuses an unknown error, and lists the known ones", async ({ service }) => {
    const reply = await service.api("GET", "/v1/dlq?error=TIMEOUT,LATE");
    expect(reply.status).toBe(400);
    expect(reply.body.error.details.issues).toMatchObject([{ path: "error", message: expect.stringContaining("NODE_LOST") }]);
  });

  test("the dead-letter queue is shown page by page without holes or repeats", async ({ service, database }) => {
    const queue = await service.queue();
    const ids = shown(await putJobs(database, await laneOf(service, queue), { state: "failed", count: 23 })).toReversed();
    const seen: string[] = [];
    let cursor = "";
    for (let page = 0; page < 5; page += 1) {
      const reply = await service.ok("GET", `/v1/dlq?limit=5${cursor}`);
      seen.push(...idsOf(reply));
      expect(reply.next_cursor === null).toBe(page === 4);
      cursor = `&cursor=${reply.next_cursor}`;
    }
    expect(seen).toEqual(ids);
  });

  test("the dead-letter queue can be filtered whatever the handler said, also what PostgreSQL's JSON does not take", async ({
    service,
  }) => {
    for (const body of ["\0", "x\u0000y", `x${"🌊".repeat(300)}`, "\ufffe", '"\\', "\u2028"]) {
      const handler = await service.handler({ answers: { status: 410, body } });
      await service.untilState(await service.enqueue({ queue: handler.queue }), "failed");
    }
    const reply = await service.api("GET", "/v1/dlq?error=HTTP_STATUS");
    expect(reply.status).toBe(200);
    expect(reply.body.data).toHaveLength(6);
    expect((await service.api("POST", "/v1/dlq/retry", { error: "DNS" })).body).toEqual({ retried: 0 });
    expect((await service.api("POST", "/v1/dlq/purge", { error: "HTTP_STATUS" })).body).toEqual({ purged: 6 });
  });

  test("the dead-letter queue does not show another workspace's jobs, nor moves or removes them", async ({
    service,
    database,
    node,
    clock,
  }) => {
    await twoQueues({ service, database });
    const stranger = new Service(node, database, clock, await newWorkspace(database));
    expect((await stranger.ok("GET", "/v1/dlq")).data).toEqual([]);
    expect(await stranger.ok("POST", "/v1/dlq/retry", {})).toEqual({ retried: 0 });
    expect(await stranger.ok("POST", "/v1/dlq/purge", {})).toEqual({ purged: 0 });
    expect((await service.ok("GET", "/v1/dlq")).data).toHaveLength(5);
  });
});

describe("retrying and purging the dead-letter queue", () => {
  test.for<[string, (queues: readonly [string, string]) => object, number]>([
    ["everything", () => ({}), 5],
    ["a queue", ([queue]) => ({ queue }), 3],
    ["a tag", () => ({ tag: "b" }), 2],
    ["an error", () => ({ error: "TIMEOUT" }), 3],
    ["all three at once", ([queue]) => ({ queue, tag: "a", error: "TIMEOUT" }), 2],
  ])("retrying and purging the dead-letter queue takes %s", async ([, filter, count], { service, database }) => {
    const { queues } = await twoQueues({ service, database });
    expect(await service.ok("POST", "/v1/dlq/retry", filter(queues))).toEqual({ retried: count });
    expect((await service.ok("GET", "/v1/dlq")).data).toHaveLength(5 - count);
    const again = await twoQueues({ service, database });
    await service.ok("POST", "/v1/dlq/purge", filter(again.queues));
    expect((await service.ok("GET", `/v1/dlq?queue=${again.queues.join(",")}`)).data).toHaveLength(5 - count);
  });

  test("retrying and purging without a body takes every dead letter", async ({ service, database }) => {
    await twoQueues({ service, database });
    expect((await service.api("POST", "/v1/dlq/retry")).body).toEqual({ retried: 5 });
    await twoQueues({ service, database });
    expect((await service.api("POST", "/v1/dlq/purge")).body).toEqual({ purged: 5 });
    expect((await service.ok("GET", "/v1/dlq")).data).toEqual([]);
  });

  test("a retried job is delivered, a purged one is gone", async ({ service }) => {
    const handler = await service.handler({ answers: 410 });
    const [one, other] = [
      await service.enqueue({ queue: handler.queue, tag: "keep" }),
      await service.enqueue({ queue: handler.queue, tag: "purge" }),
    ];
    await service.untilState(one, "failed");
    await service.untilState(other, "failed");
    handler.answers = 200;
    expect(await service.ok("POST", "/v1/dlq/purge", { tag: "purge" })).toEqual({ purged: 1 });
    expect(await service.ok("POST", "/v1/dlq/retry")).toEqual({ retried: 1 });
    await service.untilState(one, "completed");
    expect((await service.api("GET", `/v1/queues/${handler.queue}/jobs/${other.id}`)).status).toBe(404);
  });

  test("retrying and purging the dead letters of a queue that does not exist is NOT_FOUND", async ({ service }) => {
    expect((await service.api("POST", "/v1/dlq/retry", { queue: "nowhere" })).status).toBe(404);
    expect((await service.api("POST", "/v1/dlq/purge", { queue: "nowhere" })).status).toBe(404);
  });

  test("retrying and purging leaves alone what was in a queue that was deleted", async ({ service, database }) => {
    for (const path of ["/v1/dlq/retry", "/v1/dlq/purge"]) {
      const queue = await service.queue();
      await putJobs(database, await laneOf(service, queue), { state: "failed", count: 3 });
      await service.ok("DELETE", `/v1/queues/${queue}`);
      expect((await service.ok("GET", "/v1/dlq")).data).toEqual([]);
      expect(Object.values(await service.ok("POST", path))).toEqual([0]);
    }
  });
});
