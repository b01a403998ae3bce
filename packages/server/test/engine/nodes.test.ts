import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { VERSION } from "../../src/version.ts";
import { joinedBy, NEVER_POLL, testWith } from "../harness/nodes.ts";
import { OPERATOR_TOKEN, operate } from "../harness/operator.ts";
import { newPerson } from "../harness/people.ts";
import { type Service, until } from "../harness/service.ts";

const SETTINGS = { ...NEVER_POLL, TIDEMILL_CALLBACKS_IN_FLIGHT: "8", TIDEMILL_MEMORY_MB: "512", TIDEMILL_DRAIN_SECONDS: "600" };
const test = testWith(SETTINGS);

// biome-ignore lint/suspicious/noExplicitAny: a wrong guess fails the test.
const nodesOf = async (service: Service): Promise<any[]> => (await operate(service, "GET", "/admin/v1/nodes")).body.data;

/** Opens the lease of a node that has no process, and which tells nothing but its process, as its version too. Returns its id. */
async function register({ database }: Service, process: string | null = null, lasts = "1 minute"): Promise<number> {
  const [opened] = await database.query<{ id: number }>(
    `with opened as (insert into lease (holder, expires_at) values ('node', now() + $2::interval) returning id)
     insert into node (lease_id, master_key_ids, process, version) select id, '{}', coalesce($1::uuid, gen_random_uuid()), $1::text from opened
     returning lease_id::int as id`,
    [process, lasts],
  );
  return opened?.id as number;
}

describe("the operator's list of nodes", () => {
  test("tells of each node what it is, what it has in flight, and whether it drains, has stopped or was lost", async ({ service }) => {
    const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const known = {
      id: expect.any(Number),
      host: expect.stringMatching(/./),
      url: service.node.url,
      version: VERSION,
      started_at: moment,
      last_seen_at: moment,
      max_in_flight: 8,
      memory_bytes: expect.any(Number),
      max_memory_bytes: 512 * 1024 * 1024,
    };
    const alive = { ...known, state: "alive", ended_at: null, in_flight: 0 };
    expect(await nodesOf(service)).toEqual([alive]);

    const other = await joinedBy(service, SETTINGS);
    const handler = await service.handler({ answers: "hang", callback_timeout: 900 });
    for (let jobs = 0; jobs < 8; jobs++) await service.enqueue({ queue: handler.queue });
    await until(() => handler.open === 8, "both nodes to have their share");
    const held = (await nodesOf(service)).map(({ in_flight }) => in_flight);
    expect(held).toEqual([4, 4]);

    const stopping = other.node.stop();
    await until(async () => (await nodesOf(service))[0].state === "draining", "the drain to be known");
    handler.answers = 200;
    handler.release();
    await stopping;
    expect(await nodesOf(service)).toMatchObject([{ state: "stopped", ended_at: moment, in_flight: 0 }, { state: "alive" }]);
  });

  test("has a node that lost its lease as lost, and once only when it goes on under another", async ({ service }) => {
    const process = randomUUID();
    const lost = await register(service, process, "-1 second");
    const own = async () => (await nodesOf(service)).filter(({ version }) => version === process).map(({ id, state }) => ({ id, state }));
    expect(await own()).toEqual([{ id: lost, state: "lost" }]);
    const next = await register(service, process, "1 minute");
    expect(await own()).toEqual([{ id: next, state: "alive" }]);
  });

  test("says null for what a node of an older version has not told", async ({ service }) => {
    const id = await register(service);
    const [old] = await nodesOf(service);
    expect(old).toEqual({
      id,
      state: "alive",
      host: null,
      url: null,
      version: null,
      started_at: null,
      last_seen_at: null,
      ended_at: null,
      in_flight: 0,
      max_in_flight: null,
      memory_bytes: null,
      max_memory_bytes: null,
    });
    const { body } = await operate(service, "GET", "/admin/v1/nodes?limit=1");
    expect([body.data, body.next_cursor]).toEqual([[old], String(old.id)]);
    const next = await operate(service, "GET", `/admin/v1/nodes?limit=100&cursor=${body.next_cursor}`);
    expect(next.body.data.map(({ id }: { id: number }) => id)).not.toContain(old.id);
    expect(next.body.next_cursor).toBeNull();
    expect((await operate(service, "GET", "/admin/v1/nodes?cursor=job_1")).status).toBe(400);
  });

  test("is for operators: by their token, or by their session on the dashboard's pages", async ({ service }) => {
    expect((await operate(service, "GET", "/admin/v1/nodes", undefined, "another-operators-token")).status).toBe(401);
    const bearer = { authorization: `Bearer ${OPERATOR_TOKEN}` };
    for (const path of ["/admin/v1/nodes", "/dashboard/api/admin/v1/nodes"])
      expect((await service.api("GET", path, undefined, bearer)).status).not.toBe(200);
    const path = "/dashboard/api/admin/v1/nodes";
    expect((await (await newPerson(service, { role: "admin" })).send("GET", path)).status).not.toBe(200);
    const reply = await (await newPerson(service, { operator: true, confirmed: false })).send("GET", path);
    expect([reply.status, reply.body.data.length > 0]).toEqual([200, true]);
  });
});
