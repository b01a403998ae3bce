import { describe, expect } from "vitest";
import { testWith } from "../harness/nodes.ts";
import { newWorkspace, Service, until } from "../harness/service.ts";

const ROOM = 16;
const test = testWith({ TIDEMILL_CALLBACKS_IN_FLIGHT: String(ROOM) });

/** A queue with 500 jobs whose handler never responds. */
async function hangingQueue(service: Service) {
  const handler = await service.handler({ answers: "hang", callback_timeout: 900 });
  await service.ok(
    "POST",
    `/v1/queues/${handler.queue}/jobs/batch`,
    Array.from({ length: 500 }, (_, payload) => ({ payload })),
  );
  await until(() => handler.open > 0, "the first attempts");
  return handler;
}

async function expectDelivered(service: Service, jobs: number): Promise<void> {
  const handler = await service.handler();
  for (let index = 0; index < jobs; index += 1) {
    await service.untilState(await service.enqueue({ queue: handler.queue }), "completed");
  }
  expect(handler.attempts).toHaveLength(jobs);
}

/** A workspace with twice as many queues as the node has room for, each with a job whose handler never responds. */
async function hangingQueues(service: Service) {
  const handlers: Awaited<ReturnType<Service["handler"]>>[] = [];
  for (let index = 0; index < 2 * ROOM; index += 1)
    handlers.push(await service.handler({ answers: "hang", callback_timeout: 900, paused: true }));
  for (const { queue } of handlers) await service.enqueue({ queue });
  await Promise.all(handlers.map(({ queue }) => service.ok("PATCH", `/v1/queues/${queue}`, { paused: false })));
  return {
    underWay: () => handlers.reduce((sum, { open }) => sum + open, 0),
    changeAll: async () => {
      for (const { queue } of handlers) await service.ok("PATCH", `/v1/queues/${queue}`, { callback_headers: {} });
    },
  };
}

test("attempts of one workspace take three quarters of a node, however many of its queues have work, and those of others the rest", async ({
  service,
  node,
  database,
  clock,
  onTestFinished,
}) => {
  const other = new Service(node, database, clock, await newWorkspace(database));
  onTestFinished(() => other.close());
  const own = await hangingQueues(service);
  await until(() => own.underWay() === (ROOM * 3) / 4, "the workspace to have its share");
  await own.changeAll();
  await expectDelivered(other, 5);
  const handler = await other.handler();
  await other.ok("POST", `/v1/queues/${handler.queue}/jobs/batch`, [{ payload: 1 }, { payload: 2, delay: 60 }]);
  await other.untilIdle();
  expect(handler.received).toHaveLength(2);
  const others = await hangingQueues(other);
  await until(() => others.underWay() > 0, "the other workspace to have a part of the rest");
  await others.changeAll();
  expect(own.underWay()).toBe((ROOM * 3) / 4);
  expect(own.underWay() + others.underWay()).toBeLessThanOrEqual(ROOM);
});

describe("on a small node, a queue with 500 jobs whose handler hangs", () => {
  test("a queue with 500 jobs whose handler hangs does not delay another queue's job on a small node, and has at most half of the node", async ({
    service,
  }) => {
    const handler = await hangingQueue(service);
    await expectDelivered(service, 5);
    expect(handler.open, `${handler.received.length} received, ${handler.aborted} aborted`).toBeLessThanOrEqual(ROOM / 2);
  });

  test("a queue with 500 jobs whose handler hangs does not delay a batch of another queue that has more jobs than there is room for", async ({
    service,
  }) => {
    await hangingQueue(service);
    const handler = await service.handler();
    const batch = Array.from({ length: 5 * ROOM }, (_, payload) => ({ payload }));
    await service.ok("POST", `/v1/queues/${handler.queue}/jobs/batch`, batch);
    await until(() => handler.received.length === batch.length, "the whole batch");
  });
});

test("a job that waits for its workspace's share says so, and one of another workspace does not", async ({
  service,
  node,
  database,
  clock,
  onTestFinished,
}) => {
  const other = new Service(node, database, clock, await newWorkspace(database));
  onTestFinished(() => other.close());
  const { underWay } = await hangingQueues(service);
  await until(() => underWay() === (3 * ROOM) / 4, "three quarters of the node");
  const explained = async (one: Service) => {
    const { queue } = await one.handler({ paused: true });
    const { id } = await one.enqueue({ queue });
    return one.ok("GET", `/v1/queues/${queue}/jobs/${id}/explain`);
  };
  const mine = await explained(service);
  expect(mine.held_by).toEqual(["queue_paused", "workspace_share"]);
  expect(mine.summary).toContain("your workspace's share of this node's delivery slots is in use");
  expect(mine.gates.find(({ gate }: { gate: string }) => gate === "workspace_share").figures).toEqual({ used_up: ["delivery_slots"] });
  expect((await explained(other)).held_by).toEqual(["queue_paused"]);
});
