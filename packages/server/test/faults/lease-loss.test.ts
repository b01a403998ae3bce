import { describe, expect } from "vitest";
import type { TestDatabase } from "../harness/database.ts";
import { LeaseWatch } from "../harness/lease-watch.ts";
import { until } from "../harness/service.ts";
import { type Stage, test } from "../harness/stage.ts";
import { isClaim, isRenewal } from "../harness/statements.ts";

const LEASE = { TIDEMILL_NODE_LEASE_SECONDS: "2" };
const LONG = { callback_timeout: 900, defaultJobOptions: { attempts: 3, backoff: { type: "exponential", delay: 20 } } };

describe("a node that is paused for longer than its lease", () => {
  test("a node that is paused for longer than its lease settles nothing that its peer has taken, and goes on under a new lease", async ({
    stage,
  }) => {
    const database = await stage.database();
    const settings = { DATABASE_URL: database.url, ...LEASE };
    const paused = await stage.node(settings);
    // How the handler responds to the first and second attempts of all jobs. It responds to third attempts at once.
    const open: Record<number, ((status: number) => void)[]> = { 1: [], 2: [] };
    const handler = await stage.handler(
      ({ body: { attempt } }) => new Promise((resolve) => (open[attempt] ? open[attempt].push(resolve) : resolve(200))),
    );
    const queue = await paused.client.queue("mails", handler.url, LONG);
    const ids = [await paused.client.enqueue(queue), ...(await paused.client.enqueueMany(queue, 20))];
    await until(() => open[1]?.length === 21, "the first attempts to be under way");
    const peer = await stage.node({ DATABASE_URL: database.url });
    const watch = LeaseWatch.over((text) => database.query(text));
    stage.finally(() => watch.stop());

    paused.signal("SIGSTOP");
    await until(() => open[2]?.length === 21, "the peer to begin the second attempts");
    // Responses that wait for the paused node when it wakes up.
    for (const answer of open[1] ?? []) answer(200);
    paused.signal("SIGCONT");
    await until(() => paused.logged("node_lease_lost") > 0, "the node to know that its lease is lost");
    await until(
      async () => (await database.query("select from lease where expires_at > now()")).length === 2,
      "the node to have a new lease",
    );
    expect(await peer.client.states(queue)).toMatchObject({ active: 21, completed: 0 });
    await watch.stop();
    expect(watch.violations).toEqual([]);

    // Not a 5xx: this many would open the circuit.
    for (const answer of open[2] ?? []) answer(429);
    await until(async () => (await peer.client.states(queue)).completed === 21, "the third attempts to complete the jobs");
    for (const id of ids) {
      expect(await peer.client.job(queue, id)).toMatchObject({
        attempt: 3,
        // Two attempts that count, and the lost one.
        attempts: 4,
        attempts_log: [
          { attempt: 1, outcome: "lost", error: { code: "NODE_LOST" } },
          { attempt: 2, outcome: "failed", status: 429 },
          { attempt: 3, outcome: "completed", status: 200 },
        ],
      });
    }
    expect(handler.received).toHaveLength(63);

    await peer.kill();
    handler.answers = 200;
    const again = await paused.client.enqueue(queue);
    await until(async () => (await paused.client.job(queue, again)).state === "completed", "the node to deliver again");
    expect(paused.ended).toBeNull();
    expect(paused.logged("node_lease_lost")).toBeGreaterThan(0);
  });
});

describe("a node whose renewal fails once", () => {
  test("a node whose renewal fails once tries again in time, and keeps its lease and its attempts", async ({ stage }) => {
    const database = await stage.database();
    const wire = await stage.wire(database);
    const node = await stage.node({ DATABASE_URL: wire.url(), TIDEMILL_NODE_LEASE_SECONDS: "9" });
    const handler = await stage.handler("hang");
    const queue = await node.client.queue("mails", handler.url, LONG);
    await node.client.enqueue(queue);
    await until(() => handler.open === 1, "the attempt to be under way");
    await wire.cutResponse(isRenewal);
    const [lease] = await database.query<{ until: string }>("select expires_at::text as until from lease");

    await until(
      async () => (await database.query("select from lease where expires_at > $1", [lease?.until])).length === 1,
      "the next renewal",
    );
    expect(node.logged("node_lease_lost")).toBe(0);
    expect(handler).toMatchObject({ open: 1, aborted: 0 });
  });
});

describe("a node that hears nothing of its database", () => {
  test("a node that hears nothing of its database does not start what it claimed once its lease is lost", async ({ stage }) => {
    const database = await stage.database();
    const { peer, makeRoom } = await fullNode(stage, database);
    const wire = await stage.wire(database);
    const cutOff = await stage.node({ DATABASE_URL: wire.url(), ...LEASE });
    const handler = await stage.handler();
    const queue = await cutOff.client.queue("mails", handler.url, LONG);
    const before = await cutOff.client.enqueue(queue);
    await until(() => handler.received.length === 1, "the handler's address to be known");

    const claimed = wire.holdResponsesFrom(isClaim(5));
    const ids = await cutOff.client.enqueueMany(queue, 5);
    await claimed;
    makeRoom();
    await until(async () => (await peer.client.states(queue)).completed === 6, "the peer to finish the jobs");
    await until(() => cutOff.logged("node_lease_lost") > 0, "the node to know that its lease is lost");
    wire.release();
    await peer.kill();
    const after = await cutOff.client.enqueue(queue);
    await until(async () => (await cutOff.client.job(queue, after)).state === "completed", "the node to work again");
    const expected = [`${before} 1`, ...ids.map((id) => `${id} 2`), `${after} 1`];
    expect(handler.received.map(({ body }) => `${body.id} ${body.attempt}`).toSorted()).toEqual(expected.toSorted());
  });

  test("a node that hears nothing of its database does not start what was cancelled meanwhile", async ({ stage }) => {
    const database = await stage.database();
    const { peer } = await fullNode(stage, database);
    const wire = await stage.wire(database);
    const cutOff = await stage.node({ DATABASE_URL: wire.url(), ...LEASE });
    const handler = await stage.handler();
    const queue = await cutOff.client.queue("mails", handler.url, LONG);
    const before = await cutOff.client.enqueue(queue);
    await until(() => handler.received.length === 1, "the handler's address to be known");

    const claimed = wire.holdResponsesFrom(isClaim(5));
    const ids = await cutOff.client.enqueueMany(queue, 5);
    await claimed;
    for (const id of ids) await peer.client.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    await until(() => cutOff.logged("node_lease_lost") > 0, "the node to know that its lease is lost");
    wire.release();
    await until(async () => (await cutOff.client.status("/readyz")) === 200, "the node to hear again");
    const after = await cutOff.client.enqueue(queue);
    await until(async () => (await peer.client.job(queue, after)).state === "completed", "the node to work again");
    expect(handler.received.map(({ body }) => body.id)).toEqual([before, after]);
  });

  test("a node that hears nothing of its database in the middle of its housekeeping keeps no other from starting", async ({ stage }) => {
    const database = await stage.database();
    // A month without a partition gives the housekeeping something to do.
    await database.query("do $$ begin execute format('drop table %I', partition_name('job_history', moment()::date)); end $$");
    const wire = await stage.wire(database);
    const settings = { TIDEMILL_STATEMENT_TIMEOUT_MS: "3000", ...LEASE };
    const holding = wire.holdResponsesFrom(({ text }) => text.includes("pg_try_advisory_xact_lock(7305512011)"));
    stage.start({ DATABASE_URL: wire.url(), ...settings });
    await holding;
    const other = await stage.node({ DATABASE_URL: database.url, ...settings });
    expect(await other.client.status("/readyz")).toBe(200);
  });

  test("a node that hears nothing of its database settles nothing with an answer that comes too late", async ({ stage }) => {
    const database = await stage.database();
    const wire = await stage.wire(database);
    const cutOff = await stage.node({ DATABASE_URL: wire.url(), TIDEMILL_LOG_LEVEL: "debug", ...LEASE });
    const handler = await stage.handler("hang");
    const queue = await cutOff.client.queue("mails", handler.url, LONG);
    const ids = await cutOff.client.enqueueMany(queue, 5);
    await until(() => handler.open === 5, "the first attempts to be under way");
    const peer = await stage.node({ DATABASE_URL: database.url, ...LEASE });

    // The node has the responses and cannot record them.
    wire.holdRequests();
    handler.release(200);
    await until(() => handler.open === 5, "the peer to begin the second attempts");
    wire.release();
    await until(() => cutOff.logged("settle_lost_race") > 0, "the late answers to be found too late");
    expect(await peer.client.states(queue)).toMatchObject({ active: 5, completed: 0 });
    handler.release(200);
    await until(async () => (await peer.client.states(queue)).completed === 5, "the second attempts to complete the jobs");
    for (const id of ids)
      expect(await peer.client.job(queue, id)).toMatchObject({
        attempt: 2,
        attempts_log: [
          { attempt: 1, outcome: "lost" },
          { attempt: 2, outcome: "completed" },
        ],
      });
    expect(handler.received).toHaveLength(10);
  });

  test("a node that hears nothing of its database keeps no job that it has let go of", async ({ stage }) => {
    const database = await stage.database();
    const wire = await stage.wire(database);
    const cutOff = await stage.node({ DATABASE_URL: wire.url(), ...LEASE });
    const handler = await stage.handler("hang");
    const queue = await cutOff.client.queue("mails", handler.url, LONG);
    const ids = await cutOff.client.enqueueMany(queue, 5);
    await until(() => handler.open === 5, "the attempts to be under way");

    // Its renewals arrive, so that its lease holds. The node cannot know this, and ends its attempts.
    wire.holdResponses();
    await until(() => handler.aborted === 5, "the node to end its attempts");
    handler.answers = 200;
    wire.release();
    await until(async () => (await cutOff.client.states(queue)).completed === 5, "the jobs to be delivered again");
    for (const id of ids)
      expect(await cutOff.client.job(queue, id)).toMatchObject({
        attempt: 2,
        attempts_log: [{ attempt: 1 }, { attempt: 2, outcome: "completed" }],
      });
  });
});

/** A node without free slots: all its attempts hang. Until a slot is free, it only handles requests. */
async function fullNode(stage: Stage, database: TestDatabase) {
  const hanging = await stage.handler("hang");
  const peer = await stage.node({ DATABASE_URL: database.url, TIDEMILL_CALLBACKS_IN_FLIGHT: "2" });
  for (const name of ["first", "second"]) await peer.client.enqueue(await peer.client.queue(name, hanging.url, LONG));
  await until(() => hanging.open === 2, "the node to be full");
  return { peer, makeRoom: () => hanging.release() };
}
