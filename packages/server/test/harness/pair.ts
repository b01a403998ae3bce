import type { Handler } from "./handler.ts";
import { joinedBy, NEVER_POLL } from "./nodes.ts";
import { test as base, newWorkspace, Service, startTestNode, until } from "./service.ts";

/** A node runs this many attempts at once. One queue gets at most half of them, so that a queue with more jobs uses both nodes. */
export const CAPACITY = 16;

const SETTINGS = { ...NEVER_POLL, TIDEMILL_CALLBACKS_IN_FLIGHT: String(CAPACITY), TIDEMILL_DRAIN_SECONDS: "0" };

/** Two nodes on one database. Each test has its own and may stop either. They never poll, so that they start jobs only after wake-ups. */
export const test = base
  .extend("service", async ({ database, clock }, { onCleanup }) => {
    const node = await startTestNode(database, clock, SETTINGS);
    const service = new Service(node, database, clock, await newWorkspace(database));
    onCleanup(async () => {
      await node.stop();
      await service.close();
    });
    return service;
  })
  .extend("other", async ({ service }, { onCleanup }) => {
    const other = await joinedBy(service, SETTINGS);
    onCleanup(async () => {
      await other.node.stop();
      await other.close();
    });
    return other;
  });

/** Enqueues jobs in one batch. Returns them. */
export async function enqueueAll(service: Service, queue: string, jobs: readonly object[]): Promise<{ id: string; queue: string }[]> {
  return (
    await service.ok(
      "POST",
      `/v1/queues/${queue}/jobs/batch`,
      jobs.map((job) => ({ payload: {}, ...job })),
    )
  ).jobs;
}

/** An array that holds the same value `count` times. */
export const times = <One>(count: number, one: One): One[] => Array.from({ length: count }, () => one);

export const patch = (service: Service, queue: string, settings: object): Promise<unknown> =>
  service.ok("PATCH", `/v1/queues/${queue}`, settings);

/** The number of a queue's jobs in a state. */
export const countOf = async (service: Service, queue: string, state: string): Promise<number> =>
  (await service.ok("GET", `/v1/queues/${queue}`)).metrics[state];

/** Waits until `count` attempts are in progress. Throws if there are more. */
export async function untilOpen(handler: Handler, count: number): Promise<void> {
  await until(() => handler.open >= count, `${count} attempts under way, where there are ${handler.open}`);
  if (handler.open > count) throw new Error(`There are ${handler.open} attempts under way, not ${count}.`);
}

/** Responds to hanging attempts, `inOneStatement` at a time. Before each step, it checks that as many are in progress as limit and jobs allow. */
export async function letThrough(handler: Handler, limit: number, jobs: number, inOneStatement = 1): Promise<void> {
  for (let left = jobs; left > 0; left -= inOneStatement) {
    await untilOpen(handler, Math.min(limit, left));
    handler.release(200, inOneStatement);
  }
}

/** Lets both nodes scan for work, and waits until a job that each enqueued afterwards has run. By then every job that can start has started. */
export async function haveBothLook(service: Service, other: Service): Promise<void> {
  const witness = await service.handler({ concurrency: 100 });
  for (const one of [service, other, service, other]) {
    one.node.wake();
    await one.untilState(await one.enqueue({ queue: witness.queue }), "completed");
  }
}

/** Finds the one of the two nodes that runs the workspace's jobs. */
export async function holderOf(service: Service, other: Service): Promise<{ holder: Service; leaseId: number; rest: Service }> {
  const [first] = await service.database.query<{ id: string }>("select id from lease where expires_at > now() order by id");
  const held = await service.database.query<{ id: string }>(
    "select distinct lease_id as id from job where workspace_id = (select workspace_id from api_key where hash = sha256($1::text::bytea)) and state = 'active'",
    [service.key],
  );
  const [one] = held;
  if (!one || held.length > 1) throw new Error(`${held.length} nodes have jobs under way.`);
  const isFirst = one.id === first?.id;
  return { holder: isFirst ? service : other, leaseId: Number(one.id), rest: isFirst ? other : service };
}
