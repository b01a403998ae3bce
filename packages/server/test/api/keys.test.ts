import { describe, expect } from "vitest";
import { typeId, type Uuid } from "#kernel";
import { audited } from "../harness/audit-events.ts";
import { complaintsAbout, everythingStored } from "../harness/problem.ts";
import { newWorkspace, Service, startTestNode, test, until } from "../harness/service.ts";

const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const KEY_ID = expect.stringMatching(/^key_[0-7][0-9a-hjkmnp-tv-z]{25}$/);

const ABSENT = "key_01kajv3k4ve6nsd9z5kgtzx0rw";

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** The id of a key by its text. */
async function idOf({ database }: Service, key: string): Promise<string> {
  const [found] = await database.query<{ id: Uuid }>("select id from api_key where hash = sha256($1::text::bytea)", [key]);
  return typeId("key", found?.id as Uuid);
}

describe("a workspace's keys", () => {
  test("a workspace's keys are made with a name, a role and an expiry, each shown once", async ({ service, clock }) => {
    const soon = new Date(clock.nowMs() + 1).toISOString();
    for (const [sent, role, expires_at] of [
      [{}, "write", null],
      [{ role: "write", expires_at: null }, "write", null],
      [{ role: "read", expires_at: "2030-01-01T01:00:00+01:00" }, "read", "2030-01-01T00:00:00.000Z"],
      [{ role: "admin", expires_at: soon }, "admin", soon],
    ] as const) {
      const { status, body } = await service.api("POST", "/v1/keys", { name: "Deploys", ...sent });
      expect([status, body]).toEqual([
        201,
        {
          id: KEY_ID,
          name: "Deploys",
          role,
          queues: null,
          workflows: null,
          key: expect.stringMatching(/^svc_ws_[0-9A-Za-z]{38}$/),
          expires_at,
          created_at: MOMENT,
        },
      ]);
      expect((await service.api("GET", "/v1/queues", undefined, bearer(body.key))).status).toBe(200);
      const listed = (await service.ok("GET", "/v1/keys")).data.find(({ id }: { id: string }) => id === body.id);
      expect(listed).toEqual({
        id: body.id,
        name: "Deploys",
        role,
        queues: null,
        workflows: null,
        expires_at,
        last_used_at: null,
        created_at: body.created_at,
      });
    }
  });

  test("a workspace's keys may have the same name", async ({ service }) => {
    const [one, other] = [await service.ok("POST", "/v1/keys", { name: "twin" }), await service.ok("POST", "/v1/keys", { name: "twin" })];
    expect(one.id).not.toBe(other.id);
  });

  test("a workspace's keys are not made with an expiry that is past", async ({ service, clock }) => {
    const now = new Date(clock.nowMs()).toISOString();
    const requests = [now, "2020-01-01T00:00:00Z", "1970-01-01T00:00:00Z"].map((expires_at) => ({
      method: "POST",
      path: "/v1/keys",
      body: JSON.stringify({ name: "x", expires_at }),
      names: "expires_at",
      says: "later than now",
    }));
    expect(await complaintsAbout(service, "VALIDATION_ERROR", requests)).toEqual([]);
  });

  test("a workspace's keys are listed newest first, in pages, without those that were revoked and with those that have expired", async ({
    service,
    clock,
  }) => {
    const made: string[] = [];
    for (const n of [1, 2, 3, 4, 5]) {
      const expires_at = n === 2 ? new Date(clock.nowMs() + 60_000).toISOString() : null;
      made.unshift((await service.ok("POST", "/v1/keys", { name: `key ${n}`, expires_at })).id);
    }
    await clock.advance(60);
    await service.ok("DELETE", `/v1/keys/${made[1]}`);
    const listed: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { data, next_cursor } = await service.ok("GET", `/v1/keys?limit=2${cursor && `&cursor=${cursor}`}`);
      expect(data.length).toBeLessThanOrEqual(2);
      listed.push(...data.map(({ id }: { id: string }) => id));
      cursor = next_cursor;
    }
    // The first key was created with another clock.
    expect(listed.filter((id) => made.includes(id))).toEqual([made[0], made[2], made[3], made[4]]);
    expect(listed).toHaveLength(5);
  });

  test("a workspace's keys never show a key's text or hash again", async ({ service }) => {
    const { id, key } = await service.ok("POST", "/v1/keys", { name: "secret" });
    await service.ok("DELETE", `/v1/keys/${id}`);
    const { text } = await service.api("GET", "/v1/keys");
    const events = await service.database.query("select * from audit_event");
    expect(events.length).toBeGreaterThan(2);
    for (const shown of [text, JSON.stringify(events)]) expect(shown).not.toContain(key.slice(7, 39));
  });

  test("a revoked key is refused at once, and can be revoked once", async ({ service }) => {
    const { id, key } = await service.ok("POST", "/v1/keys", { name: "old" });
    expect((await service.api("GET", "/v1/queues", undefined, bearer(key))).status).toBe(200);
    expect((await service.api("DELETE", `/v1/keys/${id}`)).status).toBe(204);
    expect((await service.api("GET", "/v1/queues", undefined, bearer(key))).status).toBe(401);
    const again = await service.api("DELETE", `/v1/keys/${id}`);
    const absent = await service.api("DELETE", `/v1/keys/${ABSENT}`);
    expect([again.status, again.text.replaceAll(id, ABSENT)]).toEqual([404, absent.text]);
  });

  test("a workspace's keys can revoke themselves, the last one too", async ({ service }) => {
    const own = await idOf(service, service.key);
    expect((await service.api("DELETE", `/v1/keys/${own}`)).status).toBe(204);
    expect((await service.api("GET", "/v1/keys")).status).toBe(401);
  });

  test("a workspace's keys are out of reach of another workspace's", async ({ service, node, database, clock }) => {
    const other = new Service(node, database, clock, await newWorkspace(database));
    const { id } = await other.ok("POST", "/v1/keys", { name: "theirs" });
    const before = await everythingStored(database);
    const [foreign, absent] = [await service.api("DELETE", `/v1/keys/${id}`), await service.api("DELETE", `/v1/keys/${ABSENT}`)];
    expect([foreign.status, foreign.text.replaceAll(id, ABSENT)]).toEqual([404, absent.text]);
    expect((await service.ok("GET", "/v1/keys")).data.map(({ name }: { name: string }) => name)).toEqual(["First key"]);
    expect(await everythingStored(database)).toEqual(before);
  });

  test("a workspace's keys leave in the audit log who made and who revoked them", async ({ service }) => {
    const actor = await idOf(service, service.key);
    const { id, key } = await service.ok("POST", "/v1/keys", { name: "ops", role: "admin", expires_at: "2030-01-01T00:00:00Z" });
    const { id: made } = (await service.api("POST", "/v1/keys", { name: "made by ops", role: "read" }, bearer(key))).body;
    await service.ok("DELETE", `/v1/keys/${id}`);
    const input = { name: "ops", role: "admin", queues: null, workflows: null, expires_at: "2030-01-01T00:00:00.000Z" };
    expect((await audited(service, service.workspaceId, "key")).slice(-3)).toEqual([
      { type: "key.created", actor, resource: id, input, output: null },
      {
        type: "key.created",
        actor: id,
        resource: made,
        input: { name: "made by ops", role: "read", queues: null, workflows: null, expires_at: null },
        output: null,
      },
      { type: "key.revoked", actor, resource: id, input, output: null },
    ]);
  });
});

describe("when a key was last used", () => {
  const lastUse = async (service: Service, id: string): Promise<string | null> =>
    (await service.ok("GET", "/v1/keys")).data.find((key: { id: string }) => key.id === id).last_used_at;

  test("the time when a key was last used is written by the node, some seconds later, whatever the request came to", async ({
    service,
    clock,
    node,
  }) => {
    const { id, key } = await service.ok("POST", "/v1/keys", { name: "reader", role: "read" });
    const { id: unused } = await service.ok("POST", "/v1/keys", { name: "unused" });
    const used = new Date(clock.nowMs()).toISOString();
    expect((await service.api("POST", "/v1/queues", { name: "x" }, bearer(key))).status).toBe(403);
    await clock.advance(5);
    node.wake();
    await until(async () => (await lastUse(service, id)) === used, "the use to be written");
    expect(await lastUse(service, unused)).toBeNull();
  });

  test("the time when a key was last used is written early by a node that stops", async ({ service, clock, database }) => {
    const node = await startTestNode(database, clock);
    const { id, key } = await service.ok("POST", "/v1/keys", { name: "last" });
    const other = new Service(node, database, clock, { id: service.workspaceId, key });
    await other.ok("GET", "/v1/queues");
    node.wake();
    await until(async () => (await lastUse(service, id)) !== null, "the first use to be written");
    await clock.advance(1);
    await other.ok("GET", "/v1/queues");
    await node.stop();
    expect(await lastUse(service, id)).toBe(new Date(clock.nowMs()).toISOString());
  });
});
