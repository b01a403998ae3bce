import { describe, expect } from "vitest";
import { ask } from "../harness/ask.ts";
import { FrozenClock } from "../harness/clock.ts";
import { test as base } from "../harness/engine.ts";
import { joinedBy, NEVER_POLL } from "../harness/nodes.ts";
import { operate } from "../harness/operator.ts";
import { type Service, startTestNode, until } from "../harness/service.ts";
import { settle, untilWaiting } from "../harness/workers.ts";

/** A clock whose time does not pass: a node's cached keys stay valid until it is notified. */
class StandingClock extends FrozenClock {
  override elapsedMs(): number {
    return 1;
  }
}

const SETTINGS = { ...NEVER_POLL, TIDEMILL_DRAIN_SECONDS: "0" };
const test = base
  .extend("clock", { scope: "file" }, async ({ database }) => {
    const clock = new StandingClock(database);
    await clock.set(Date.UTC(2026, 10, 21, 12));
    return clock;
  })
  .extend("node", { scope: "file" }, async ({ database, clock }, { onCleanup }) => {
    const node = await startTestNode(database, clock, SETTINGS);
    onCleanup(() => node.stop());
    return node;
  })
  .extend("other", async ({ service }, { onCleanup }) => {
    const other = await joinedBy(service, SETTINGS);
    onCleanup(() => other.node.stop());
    return other;
  });

const status = async (at: Service, key: string): Promise<number> =>
  (await at.api("GET", "/v1/queues", undefined, { authorization: `Bearer ${key}` })).status;

describe("two nodes on one database", () => {
  test("two nodes on one database both refuse a key that one of them revoked", async ({ service, other }) => {
    for (const revoke of [
      (id: string) => service.api("DELETE", `/v1/keys/${id}`),
      (id: string) => operate(service, "DELETE", `/admin/v1/workspaces/${service.workspaceId}/keys/${id}`),
    ]) {
      const { id, key } = await service.ok("POST", "/v1/keys", { name: "old" });
      expect([await status(service, key), await status(other, key)]).toEqual([200, 200]);
      expect((await revoke(id)).status).toBe(204);
      expect(await status(service, key)).toBe(401);
      await until(async () => (await status(other, key)) === 401, "the other node to be told");
      expect(await status(other, service.key)).toBe(200);
    }
  });

  test("two nodes on one database both end the calls that wait of a key that one of them revoked, and no others", async ({
    service,
    other,
  }) => {
    const queue = await service.queue();
    const makeWorkerKey = () => service.ok("POST", "/v1/keys", { name: "a worker", role: "worker" });
    const [kept, revoked] = [await makeWorkerKey(), await makeWorkerKey()];
    const waits = (key: string, worker: string) => ask(other.node.url, key, "POST", "/v1/work", { worker, queues: [queue], wait: 20 });
    const [waiting, ending] = [waits(kept.key, "w1"), waits(revoked.key, "w2")];
    await until(async () => (await service.ok("GET", "/v1/workers")).data.length === 2, "the workers to call");
    await untilWaiting(other, queue);
    await service.ok("DELETE", `/v1/keys/${revoked.id}`);
    expect((await ending).body).toMatchObject({ jobs: [] });
    await service.enqueue({ queue });
    const { jobs } = (await waiting).body;
    expect(await settle(service, jobs[0], { outcome: "completed" })).toMatchObject({ ok: true });
  });

  test("two nodes on one database both serve by the plan and the limits that one of them was given", async ({ service, other }) => {
    const callback = { callback_url: "http://127.0.0.1:9/" };
    const mayCall = async (at: Service) => (await at.api("PATCH", `/v1/queues/${queue}`, callback)).status;
    const queue = await service.queue();
    expect([await mayCall(service), await mayCall(other)]).toEqual([200, 200]);
    for (const [plan, expected] of [
      ["free", 403],
      ["pro", 200],
    ] as const) {
      await operate(service, "PATCH", `/admin/v1/workspaces/${service.workspaceId}`, { plan });
      expect(await mayCall(service)).toBe(expected);
      await until(async () => (await mayCall(other)) === expected, "the other node to be told");
    }
  });

  test("two nodes on one database both end what they have under way for a workspace that is deleted at one of them", async ({
    service,
    other,
  }) => {
    const [here, there] = [
      await service.handler({ answers: "hang", callback_timeout: 900 }),
      await service.handler({ answers: "hang", callback_timeout: 900 }),
    ];
    // Each node starts the jobs that it stored, without a claim.
    await service.enqueue({ queue: here.queue });
    await other.enqueue({ queue: there.queue });
    await until(() => here.open === 1 && there.open === 1, "both attempts to be under way");
    const holders = await service.database.query("select distinct lease_id from job where state = 'active'");
    expect(holders).toHaveLength(2);
    expect((await operate(service, "DELETE", `/admin/v1/workspaces/${service.workspaceId}`)).status).toBe(204);
    await until(() => here.open === 0 && there.open === 0, "both attempts to be broken off");
    expect(await status(service, service.key)).toBe(401);
    await until(async () => (await status(other, service.key)) === 401, "the other node to be told");
  });
});
