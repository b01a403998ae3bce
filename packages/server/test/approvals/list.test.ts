import { describe, expect } from "vitest";
import { approvalQueue, approve, reject } from "../harness/approvals.ts";
import { newWorkspace, Service, test } from "../harness/service.ts";

const listed = async (service: Service, query = ""): Promise<string[]> =>
  (await service.ok("GET", `/v1/approvals${query}`)).data.map(({ id }: { id: string }) => id);

describe("GET /v1/approvals", () => {
  test("GET /v1/approvals has the jobs of all queues that wait to be decided, newest first, as their records are", async ({ service }) => {
    const one = await service.enqueue({ queue: await approvalQueue(service), payload: { n: 1.0 }, tag: "t" });
    const two = await service.enqueue({ queue: await approvalQueue(service), delay: 60 });
    await service.enqueue({ queue: await service.queue() });
    expect(await service.ok("GET", "/v1/approvals")).toEqual({
      data: [two, one].map((job) => ({ ...job, decide_at: null, on_timeout: null })),
      next_cursor: null,
    });
  });

  test("GET /v1/approvals has none that was decided or cancelled", async ({ service }) => {
    const queue = await approvalQueue(service);
    const jobs = [];
    for (let count = 0; count < 4; count += 1) jobs.push(await service.enqueue({ queue }));
    await approve(service, jobs[0]);
    await reject(service, jobs[1]);
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${jobs[2].id}`);
    expect(await listed(service)).toEqual([jobs[3].id]);
  });

  test("GET /v1/approvals has none of a queue that was deleted", async ({ service }) => {
    const queue = await approvalQueue(service);
    await service.enqueue({ queue });
    await service.ok("DELETE", `/v1/queues/${queue}`);
    expect(await listed(service)).toEqual([]);
  });

  test("GET /v1/approvals has none of another workspace, whatever the cursor", async ({ service }) => {
    const { node, database, clock } = service;
    const other = new Service(node, database, clock, await newWorkspace(database));
    const queue = await approvalQueue(other);
    const theirs = [await other.enqueue({ queue }), await other.enqueue({ queue })];
    for (const query of ["", `?queue=${queue}`, `?cursor=${theirs[1].id}`]) expect(await listed(service, query)).toEqual([]);
  });

  test("GET /v1/approvals has those of the queues and with the tags that are asked for", async ({ service }) => {
    const [q1, q2, q3] = [await approvalQueue(service), await approvalQueue(service), await approvalQueue(service)];
    const a = await service.enqueue({ queue: q1, tag: "red" });
    const b = await service.enqueue({ queue: q2, tag: "blue" });
    const c = await service.enqueue({ queue: q3 });
    expect(await listed(service, `?queue=${q1},${q3}`)).toEqual([c.id, a.id]);
    expect(await listed(service, "?tag=red,blue")).toEqual([b.id, a.id]);
    expect(await listed(service, `?queue=${q1},${q3}&tag=red,blue`)).toEqual([a.id]);
    expect(await listed(service, "?queue=absent")).toEqual([]);
  });

  test("GET /v1/approvals goes page by page to the last one", async ({ service }) => {
    const queue = await approvalQueue(service);
    const batch = Array.from({ length: 5 }, (_, payload) => ({ payload }));
    const { jobs } = await service.ok("POST", `/v1/queues/${queue}/jobs/batch`, batch);
    const pages: string[][] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: { data: { id: string }[]; next_cursor: string | null } = await service.ok(
        "GET",
        `/v1/approvals?limit=2${cursor && `&cursor=${cursor}`}`,
      );
      pages.push(page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    const ids = jobs.map(({ id }: { id: string }) => id).reverse();
    expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
  });

  test("GET /v1/approvals says when the queue decides by itself, and how", async ({ service }) => {
    const timed = await service.queue({ type: "approval", approval: { timeout: 60, on_timeout: "approve" } });
    await service.enqueue({ queue: timed });
    await service.enqueue({ queue: await approvalQueue(service) });
    const { data } = await service.ok("GET", "/v1/approvals");
    const at = new Date(service.clock.nowMs() + 60_000).toISOString();
    expect(data).toMatchObject([
      { decide_at: null, on_timeout: null },
      { decide_at: at, on_timeout: "approve" },
    ]);
    await service.ok("PATCH", `/v1/queues/${timed}`, { approval: { timeout: null } });
    expect((await service.ok("GET", `/v1/approvals?queue=${timed}`)).data).toMatchObject([{ decide_at: null, on_timeout: null }]);
  });
});
