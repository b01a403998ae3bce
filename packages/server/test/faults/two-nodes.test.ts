import { describe, expect } from "vitest";
import type { TestDatabase } from "../harness/database.ts";
import { LeaseWatch } from "../harness/lease-watch.ts";
import { OPERATOR_TOKEN } from "../harness/operator.ts";
import { sendRaw } from "../harness/raw-request.ts";
import { until } from "../harness/service.ts";
import { type Stage, test } from "../harness/stage.ts";

/** The number of active attempts by node, for nodes that have any. */
const shares = (database: TestDatabase) =>
  database.query<{ node: string; jobs: number }>(
    "select lease_id as node, count(*)::int as jobs from job where state = 'active' group by lease_id order by lease_id",
  );

async function twoNodes(stage: Stage, settings: Record<string, string> = {}) {
  const database = await stage.database();
  const all = { DATABASE_URL: database.url, TIDEMILL_ADMIN_TOKEN: OPERATOR_TOKEN, ...settings };
  // One after the other, so that the first has the lower id.
  return { database, nodes: [await stage.node(all), await stage.node(all)] as const };
}

describe("two nodes on one database", () => {
  test.for([0, 1] as const)(
    "two nodes on one database share the work, and when node %i is killed the other finishes all",
    async (killed, { stage }) => {
      const { database, nodes } = await twoNodes(stage, { TIDEMILL_CALLBACKS_IN_FLIGHT: "128" });
      const survivor = nodes[killed === 0 ? 1 : 0];
      const handler = await stage.handler("hang");
      const queue = await nodes[0].client.queue("mails", handler.url, { callback_timeout: 900 });
      const watch = LeaseWatch.over((text) => database.query(text));
      stage.finally(() => watch.stop());
      const acknowledged = await nodes[0].client.enqueueMany(queue, 400);
      await until(async () => (await shares(database)).filter(({ jobs }) => jobs >= 32).length === 2, "both nodes to have their share");

      await nodes[killed].kill();
      await nodes[killed].endLease((text) => database.query(text));
      handler.answers = 200;
      handler.release();
      await until(async () => (await survivor.client.states(queue)).completed === 400, "the other node to finish all");
      await watch.stop();

      const attempts = handler.received.map(({ body }) => `${body.id} ${body.attempt}`);
      expect(attempts).toHaveLength(new Set(attempts).size);
      expect(new Set(handler.received.map(({ body }) => body.id))).toEqual(new Set(acknowledged));
      const [again] = await database.query<{ jobs: number }>(
        "select count(*)::int as jobs from job_history where attempts_log like '%NODE_LOST%'",
      );
      expect(again?.jobs).toBe(handler.received.filter(({ body }) => body.attempt === 2).length);
      expect(again?.jobs).toBeGreaterThanOrEqual(32);
      expect(watch.violations).toEqual([]);
      expect(survivor.ended).toBeNull();
      const { body } = await sendRaw(survivor.internalUrl, {
        method: "GET",
        path: "/admin/v1/nodes",
        headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
      });
      const states = ["alive", "alive"].with(killed, "lost");
      expect(body.data.map(({ state, in_flight }: Record<string, unknown>) => [state, in_flight])).toEqual(
        states.toReversed().map((state) => [state, 0]),
      );
    },
  );

  test.for([0, 1] as const)("a cancel on the other node aborts an attempt on node %i", async (at, { stage }) => {
    const { database, nodes } = await twoNodes(stage);
    const handler = await stage.handler("hang");
    const [here, there] = at === 0 ? nodes : [nodes[1], nodes[0]];
    const queue = await here.client.queue("mails", handler.url, { callback_timeout: 900 });
    const [registered] = await database.query<{ id: string }>("select id from lease order by id offset $1 limit 1", [at]);
    const id = await here.client.enqueue(queue);
    await until(() => handler.open === 1, "the attempt to be under way");
    expect(await shares(database)).toEqual([{ node: registered?.id, jobs: 1 }]);

    expect(await there.client.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`)).toMatchObject({ id, state: "cancelled" });
    await until(() => handler.aborted === 1, "the attempt to be aborted");
    for (const { client } of nodes) {
      expect(await client.job(queue, id)).toMatchObject({
        state: "cancelled",
        attempt: 1,
        attempts_log: [{ attempt: 1, outcome: "cancelled" }],
      });
    }
    expect(handler.received).toHaveLength(1);
  });

  test("a job that is enqueued on a node without room is delivered by its peer", async ({ stage }) => {
    const database = await stage.database();
    const settings = { DATABASE_URL: database.url };
    const hanging = await stage.handler("hang");
    const full = await stage.node({ ...settings, TIDEMILL_CALLBACKS_IN_FLIGHT: "2" });
    for (const name of ["first", "second"])
      await full.client.enqueue(await full.client.queue(name, hanging.url, { callback_timeout: 900 }));
    await until(() => hanging.open === 2, "the node to be full");
    const handler = await stage.handler();
    const queue = await full.client.queue("mails", handler.url);
    const waiting = await full.client.enqueue(queue);
    expect(await full.client.job(queue, waiting)).toMatchObject({ state: "waiting" });

    const peer = await stage.node(settings);
    await until(async () => (await full.client.job(queue, waiting)).state === "completed", "the peer to find what waits");
    const ids = [await full.client.enqueue(queue), ...(await full.client.enqueueMany(queue, 50))];
    await until(async () => (await full.client.states(queue)).completed === 52, "the peer to deliver the rest");
    expect(handler.received.map(({ body }) => body.id).toSorted()).toEqual([waiting, ...ids].toSorted());
    expect(await peer.client.job(queue, waiting)).toMatchObject({ state: "completed", attempt: 1 });
    expect(hanging).toMatchObject({ open: 2, aborted: 0 });
  });
});
