import type { JobState } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { typeId } from "#kernel";
import { laneOf, test, uuidOfJob } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import type { Service } from "../harness/service.ts";

const STATES: JobState[] = ["waiting", "delayed", "pending_approval", "completed", "failed", "cancelled", "rejected"];

const list = (service: Service, queue: string, query = "") => service.ok("GET", `/v1/queues/${queue}/jobs?${query}`);
const idsOf = (reply: { data: { id: string }[] }) => reply.data.map(({ id }) => id);

/** A queue with jobs of many states and tags mixed, live and in history. Newest first. */
async function mixed(
  service: Service,
  count: number,
): Promise<{ queue: string; jobs: { id: string; state: JobState; tag: string | null }[] }> {
  const queue = await service.queue();
  const lane = await laneOf(service, queue);
  const jobs: { id: string; state: JobState; tag: string | null }[] = [];
  for (let index = 0; index < count; index += 1) {
    const state = STATES[index % STATES.length] as JobState;
    const tag = ["a", "b", null][index % 3] ?? null;
    const runAt = "moment() + interval '1 hour'";
    const [id] = await putJobs(service.database, lane, { state, runAt, ...(tag !== null && { tag }) });
    if (id) jobs.unshift({ id: typeId("job", id), state, tag });
  }
  return { queue, jobs };
}

async function allPages(service: Service, queue: string, query: string, between = async () => {}): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const reply: { data: { id: string }[]; next_cursor: string | null } = await list(
      service,
      queue,
      `${query}${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    pages.push(idsOf(reply));
    cursor = reply.next_cursor;
    await between();
  }
  return pages;
}

describe("the list of a queue's jobs", () => {
  test("the list of a queue's jobs is empty for a queue that has none", async ({ service }) => {
    expect(await list(service, await service.queue())).toEqual({ data: [], next_cursor: null });
  });

  test("the list of a queue's jobs shows live and finished jobs together, newest first, each as it is read alone", async ({ service }) => {
    const { queue, jobs } = await mixed(service, 14);
    const { data } = await list(service, queue);
    expect(data.map(({ id, state, tag }: Record<string, unknown>) => ({ id, state, tag }))).toEqual(jobs);
    for (const job of data) {
      const { attempts_log: _, ...record } = await service.job(job);
      expect(record).toEqual(job);
    }
  });

  test("the list of a queue's jobs is newest first by when jobs were enqueued, whatever became of them", async ({ service }) => {
    const handler = await service.handler({ answers: ({ body }) => (body.tag === "fails" ? 410 : 200) });
    const ids: string[] = [];
    for (const fields of [{}, { tag: "fails" }, { delay: 60 }, {}, { priority: 100 }, { delay: 1 }])
      ids.unshift((await service.enqueue({ queue: handler.queue, ...fields })).id);
    expect(idsOf(await list(service, handler.queue))).toEqual(ids);
    await service.untilIdle();
    expect(idsOf(await list(service, handler.queue))).toEqual(ids);
  });

  test("the list of a queue's jobs has 50 jobs to a page unless it is told otherwise", async ({ service }) => {
    const { queue } = await mixed(service, 51);
    const reply = await list(service, queue);
    expect(reply.data).toHaveLength(50);
    expect(reply.next_cursor).toBe(reply.data[49].id);
  });

  test.for([1, 3, 7, 20, 21, 22, 100])(
    "the list of a queue's jobs comes page by page without holes or repeats: %i to a page",
    async (limit, { service }) => {
      const { queue, jobs } = await mixed(service, 21);
      const pages = await allPages(service, queue, `limit=${limit}`);
      expect(pages.flat()).toEqual(jobs.map(({ id }) => id));
      expect(pages).toHaveLength(Math.ceil(21 / limit));
    },
  );

  test("the list of a queue's jobs has no holes or repeats while jobs finish, come back and are added between two pages", async ({
    service,
  }) => {
    const queue = await service.queue();
    const jobs: { id: string; queue: string }[] = [];
    for (let index = 0; index < 20; index += 1) jobs.unshift(await service.enqueue({ queue, payload: index }));
    let moved = 0;
    const pages = await allPages(service, queue, "limit=3", async () => {
      for (const one of [jobs[moved], jobs[19 - moved]]) if (one) await service.ok("DELETE", `/v1/queues/${queue}/jobs/${one.id}`);
      if (moved % 2 === 1) await service.ok("POST", `/v1/queues/${queue}/jobs/${jobs[19 - moved]?.id}/retry`);
      await service.enqueue({ queue, payload: "new" });
      moved += 1;
    });
    expect(pages.flat()).toEqual(jobs.map(({ id }) => id));
  });

  test("the list of a queue's jobs goes on from a cursor whose job was removed", async ({ service }) => {
    const { queue, jobs } = await mixed(service, 14);
    const first = await list(service, queue, "limit=4");
    expect(jobs[3]?.state).toBe("completed");
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${first.next_cursor}`);
    expect(idsOf(await list(service, queue, `limit=4&cursor=${first.next_cursor}`))).toEqual(jobs.slice(4, 8).map(({ id }) => id));
  });

  test.for([
    "limit=0",
    "limit=101",
    "limit=1.5",
    "limit=ten",
    "cursor=",
    "cursor=x",
    "cursor=key_01h455vb4pex5vsknk084sn02q",
    "stat=waiting",
  ])("the list of a queue's jobs refuses %s", async (query, { service }) => {
    const reply = await service.api("GET", `/v1/queues/${await service.queue()}/jobs?${query}`);
    expect([reply.status, reply.body.error.code]).toEqual([400, "VALIDATION_ERROR"]);
  });

  test("the list of jobs of a queue that does not exist is NOT_FOUND", async ({ service }) => {
    expect((await service.api("GET", "/v1/queues/nowhere/jobs")).status).toBe(404);
  });

  test("the list of a queue's jobs does not show what has expired", async ({ service, database }) => {
    const queue = await service.queue();
    const lane = await laneOf(service, queue);
    await putJobs(database, lane, { state: "completed", expiresAt: "moment()" });
    const [kept] = await putJobs(database, lane, { state: "completed", expiresAt: "moment() + interval '1 millisecond'" });
    expect((await list(service, queue)).data.map(uuidOfJob)).toEqual([kept]);
  });
});

describe("the list can be filtered", () => {
  test.for(STATES)("the list of a queue's jobs can be filtered by the state %s", async (state, { service }) => {
    const { queue, jobs } = await mixed(service, 14);
    expect(idsOf(await list(service, queue, `state=${state}`))).toEqual(jobs.filter((job) => job.state === state).map(({ id }) => id));
  });

  test.for<[string, (job: { state: JobState; tag: string | null }) => boolean]>([
    ["state=waiting,completed", ({ state }) => state === "waiting" || state === "completed"],
    ["state=waiting&state=completed", ({ state }) => state === "waiting" || state === "completed"],
    ["tag=a", ({ tag }) => tag === "a"],
    ["tag=a,b", ({ tag }) => tag !== null],
    ["tag=a&tag=b", ({ tag }) => tag !== null],
    ["tag=c", () => false],
    ["state=failed,cancelled&tag=a", ({ state, tag }) => (state === "failed" || state === "cancelled") && tag === "a"],
    [`state=${STATES.join(",")}`, () => true],
  ])("the list of a queue's jobs can be filtered by %s", async ([query, holds], { service }) => {
    const { queue, jobs } = await mixed(service, 21);
    const expected = jobs.filter(holds).map(({ id }) => id);
    expect(idsOf(await list(service, queue, query))).toEqual(expected);
    expect((await allPages(service, queue, `${query}&limit=2`)).flat()).toEqual(expected);
  });

  test.for(["state=done", "state=waiting,done", "state=", "state=waiting,", "state=WAITING"])(
    "the list of a queue's jobs refuses the state %s with the states that there are",
    async (query, { service }) => {
      const reply = await service.api("GET", `/v1/queues/${await service.queue()}/jobs?${query}`);
      expect(reply.status).toBe(400);
      expect(reply.body.error.details.issues).toMatchObject([{ path: "state", message: expect.stringContaining("pending_approval") }]);
    },
  );
});
