import { describe, expect } from "vitest";
import { test } from "../harness/engine.ts";
import { operate } from "../harness/operator.ts";
import { newWorkspace, Service } from "../harness/service.ts";

const DAY_SECONDS = 86_400;

/** A job that has finished now, in a workspace on this plan. */
async function finishedJob(
  { node, database, clock }: Pick<Service, "node" | "database" | "clock">,
  plan: "free" | "pro" | "team" | "enterprise",
) {
  const service = new Service(node, database, clock, await newWorkspace(database, plan));
  const job = await service.enqueue({ queue: await service.queue() });
  await service.ok("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`);
  return { service, job, path: `/v1/queues/${job.queue}/jobs/${job.id}` };
}

describe("a finished job is there for as long as its plan keeps history", () => {
  test.for([
    ["free", 7],
    ["pro", 30],
    ["team", 90],
    ["enterprise", 365],
  ] as const)(
    "a finished job is there for as long as its plan keeps history: %s, %i days, to the moment",
    async ([plan, days], { node, database, clock }) => {
      const { service, job, path } = await finishedJob({ node, database, clock }, plan);
      await clock.advance(days * DAY_SECONDS - 0.001);
      expect((await service.job(job)).state).toBe("cancelled");
      await clock.advance(0.001);
      expect((await service.api("GET", path)).status).toBe(404);
    },
  );

  test("a finished job past its retention is gone for every endpoint, before anything is dropped", async ({ node, database, clock }) => {
    const { service, job, path } = await finishedJob({ node, database, clock }, "free");
    const queue = `/v1/queues/${job.queue}`;
    expect((await service.ok("GET", queue)).metrics.cancelled).toBe(1);
    await clock.advance(7 * DAY_SECONDS);
    expect((await service.ok("GET", `${queue}/jobs`)).data).toEqual([]);
    expect((await service.api("DELETE", path)).status).toBe(404);
    expect((await service.api("POST", `${path}/retry`)).status).toBe(404);
    expect((await service.ok("GET", queue)).metrics.cancelled).toBe(0);
    expect(
      await database.query("select count(*)::int as n from job_history where lane_id is not null and expires_at <= moment()"),
    ).not.toEqual([{ n: 0 }]);
  });

  test("a finished job is there for ever where the workspace keeps history without end", async ({ node, database, clock, service }) => {
    await database.query(
      "update workspace set retention_days = null where id = (select workspace_id from api_key where hash = sha256($1::text::bytea))",
      [service.key],
    );
    const job = await service.enqueue({ queue: await service.queue() });
    await service.ok("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`);
    await clock.advance(4_000 * DAY_SECONDS);
    expect(await new Service(node, database, clock, { id: service.workspaceId, key: service.key }).job(job)).toMatchObject({
      state: "cancelled",
    });
  });
});

test("a change of plan holds for what finishes and is done from then on; what was before keeps its time", async ({
  node,
  database,
  clock,
}) => {
  const { service, job: early } = await finishedJob({ node, database, clock }, "pro");
  const plan = (to: string) => operate(service, "PATCH", `/admin/v1/workspaces/${service.workspaceId}`, { plan: to });
  expect((await plan("free")).status).toBe(200);
  const late = await service.enqueue({ queue: await service.queue() });
  await service.ok("DELETE", `/v1/queues/${late.queue}/jobs/${late.id}`);
  expect((await plan("team")).status).toBe(200);
  const last = await service.enqueue({ queue: await service.queue() });
  await service.ok("DELETE", `/v1/queues/${last.queue}/jobs/${last.id}`);
  const queues = [early.queue, late.queue, last.queue];
  /** Which of the three jobs, and of the events of their queues, are still shown. */
  const shown = async () => {
    const replies = await Promise.all([early, late, last].map(({ queue, id }) => service.api("GET", `/v1/queues/${queue}/jobs/${id}`)));
    const { data } = await service.ok("GET", "/v1/audit-events?event_type=queue.created");
    const told = data.map((event: { resource_id: string }) => queues.indexOf(event.resource_id) + 1).sort();
    return { jobs: replies.flatMap(({ status }, at) => (status === 200 ? [at + 1] : [])), told };
  };
  expect(await shown()).toEqual({ jobs: [1, 2, 3], told: [1, 2, 3] });
  await clock.advance(7 * DAY_SECONDS);
  expect(await shown()).toEqual({ jobs: [1, 3], told: [1, 3] });
  await clock.advance(23 * DAY_SECONDS);
  expect(await shown()).toEqual({ jobs: [3], told: [3] });
  await clock.advance(60 * DAY_SECONDS);
  expect(await shown()).toEqual({ jobs: [], told: [] });
});

test("a job in the dead-letter queue stays until somebody decides", async ({ service, clock }) => {
  const handler = await service.handler({ answers: 410 });
  const job = await service.enqueue({ queue: handler.queue });
  await service.untilState(job, "failed");
  await clock.advance(400 * DAY_SECONDS);
  expect((await service.job(job)).state).toBe("failed");
});
