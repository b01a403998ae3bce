import { describe, expect } from "vitest";
import { uuidOf } from "#kernel";
import { operate } from "../harness/operator.ts";
import { Browser, newPerson, PASSWORD } from "../harness/people.ts";
import { newWorkspace, Service, test } from "../harness/service.ts";

const tokenOf = (url: string) => url.split("/").at(-1) ?? "";
const NEW = { name: "Guest", password: "a long enough password" };

describe("members", () => {
  test("an admin lists members, changes their roles and removes them, with effect on open sessions at once", async ({ service }) => {
    const ws = service.workspaceId;
    const admin = await newPerson(service);
    const other = await newPerson(service, { role: "write" });
    const { data } = (await admin.api(ws, "GET", "/v1/members")).body;
    expect(data).toHaveLength(2);
    expect(data).toContainEqual({
      id: other.id,
      name: "A person",
      email: other.email,
      role: "write",
      created_at: "2026-11-21T12:00:00.000Z",
    });
    expect((await other.api(ws, "POST", "/v1/queues", { name: "one" })).status).toBe(201);
    expect((await admin.api(ws, "PATCH", `/v1/members/${other.id}`, { role: "read" })).body).toMatchObject({ role: "read" });
    expect((await other.api(ws, "POST", "/v1/queues", { name: "two" })).status).toBe(403);
    expect((await other.api(ws, "GET", "/v1/members")).status).toBe(403);
    expect((await admin.api(ws, "DELETE", `/v1/members/${other.id}`)).status).toBe(204);
    expect((await other.api(ws, "GET", "/v1/queues")).status).toBe(404);
    expect((await other.auth("GET", "session")).body).toMatchObject({ person: { id: other.id }, workspaces: [] });
    const events = (await service.ok("GET", "/v1/audit-events?resource_type=member")).data;
    expect(events.map((one: { event_type: string; actor_id: string }) => [one.event_type, one.actor_id])).toEqual([
      ["member.removed", admin.id],
      ["member.updated", admin.id],
    ]);
  });

  test("somebody is added without being asked only by who administers them elsewhere, or by an operator", async ({
    service,
    database,
    clock,
  }) => {
    const ws = service.workspaceId;
    const other = new Service(service.node, database, clock, await newWorkspace(database));
    const admin = await newPerson(service);
    const operator = await newPerson(service, { operator: true });
    const [known, stranger] = [await newPerson(other), await newPerson(other)];
    const add = (by: typeof admin, id: string) => by.api(ws, "POST", "/v1/members", { id, role: "read" });
    // A stranger is the same as nobody, and nothing of them is shown.
    const [refused, absent] = [await add(admin, stranger.id), await add(admin, "usr_01kajv3k4ve6nsd9z5kgtzx0rw")];
    for (const reply of [refused, absent])
      expect(reply).toMatchObject({ status: 404, body: { error: { details: { resource: "member" } } } });
    expect(refused.text).not.toContain(stranger.email);
    const member = (workspace: Service, { id }: typeof admin, role: string) =>
      database.query("insert into membership (workspace_id, person_id, role) values ($1, $2, $3)", [
        uuidOf("ws", workspace.workspaceId),
        uuidOf("usr", id),
        role,
      ]);
    await member(other, admin, "write");
    expect((await add(admin, known.id)).status).toBe(404);
    await database.query("update membership set role = 'admin' where person_id = $1", [uuidOf("usr", admin.id)]);
    expect(await add(admin, known.id)).toMatchObject({ status: 201, body: { email: known.email, role: "read" } });
    expect((await add(admin, known.id)).status).toBe(409);
    expect((await known.api(ws, "GET", "/v1/queues")).status).toBe(200);
    const alone = await newPerson(service, { role: null });
    expect((await add(operator, alone.id)).status).toBe(201);
    // A key is nobody who could know them.
    const byKey = await service.api("POST", "/v1/members", { id: stranger.id, role: "read" });
    expect(byKey).toMatchObject({ status: 403, body: { error: { code: "FORBIDDEN" } } });
  });

  test("the last admin can neither leave nor get another role, also when two admins act at the same time", async ({ service }) => {
    const ws = service.workspaceId;
    const one = await newPerson(service);
    const other = await newPerson(service);
    const replies = await Promise.all([
      one.api(ws, "DELETE", `/v1/members/${other.id}`),
      other.api(ws, "PATCH", `/v1/members/${one.id}`, { role: "read" }),
    ]);
    expect(replies.filter(({ status }) => status < 300)).toHaveLength(1);
    const [left] = (await service.ok("GET", "/v1/members")).data.filter((member: { role: string }) => member.role === "admin");
    for (const reply of [
      await service.api("DELETE", `/v1/members/${left.id}`),
      await service.api("PATCH", `/v1/members/${left.id}`, { role: "write" }),
    ]) {
      expect(reply).toMatchObject({ status: 409, body: { error: { code: "INVALID_STATE", details: { state: "last_admin" } } } });
    }
  });

  test("members of another workspace are not there", async ({ service, database, clock }) => {
    const stranger = new Service(service.node, database, clock, await newWorkspace(database));
    const theirs = await newPerson(stranger);
    const mine = await newPerson(service);
    for (const method of ["PATCH", "DELETE"]) {
      const reply = await mine.api(
        service.workspaceId,
        method,
        `/v1/members/${theirs.id}`,
        method === "PATCH" ? { role: "read" } : undefined,
      );
      expect(reply).toMatchObject({ status: 404, body: { error: { details: { resource: "member", id: theirs.id } } } });
    }
  });
});

describe("who must confirm", () => {
  test("members, keys, secrets, webhooks, purges and workspaces are changed only by a person who has confirmed lately", async ({
    service,
  }) => {
    const ws = service.workspaceId;
    const person = await newPerson(service, { operator: true, confirmed: false });
    const requests: [string, string, unknown?][] = [
      ["POST", "/v1/members", { id: person.id, role: "read" }],
      ["PATCH", `/v1/members/${person.id}`, { role: "admin" }],
      ["DELETE", `/v1/members/${person.id}`],
      ["POST", "/v1/invitations", { role: "read" }],
      ["DELETE", "/v1/invitations/inv_01kajv3k4ve6nsd9z5kgtzx0rw"],
      ["POST", "/v1/keys", { name: "A key" }],
      ["DELETE", "/v1/keys/key_01kajv3k4ve6nsd9z5kgtzx0rw"],
      ["POST", "/v1/secrets", { name: "A", value: "b" }],
      ["PATCH", "/v1/secrets/A", { value: "c" }],
      ["DELETE", "/v1/secrets/A"],
      ["POST", "/v1/dlq/purge", {}],
      ["POST", "/v1/jobs/remove", { ids: ["job_01kajv3k4ve6nsd9z5kgtzx0rw"] }],
      ["DELETE", "/v1/queues/a"],
      ["DELETE", "/v1/workflows/a"],
      ["PATCH", "/v1/queues/a", { rotate_callback_secret: true }],
      ["PUT", "/v1/workflows/a", { rotate_endpoint_secret: true }],
      ["POST", "/v1/webhooks", { name: "a", url: "https://example.com/", events: ["job.failed"] }],
      ["PATCH", "/v1/webhooks/a", { rotate_secret: true }],
      ["DELETE", "/v1/webhooks/a"],
    ];
    for (const [method, path, body] of requests) {
      const reply = await person.api(ws, method, path, body);
      expect([path, reply.status, reply.body.error.code, reply.body.error.details]).toEqual([path, 403, "FORBIDDEN", { confirm: true }]);
    }
    const operate = await person.operate("PATCH", `/workspaces/${ws}`, { name: "New" });
    expect(operate.body.error.details).toEqual({ confirm: true });
    // The key has nothing to confirm.
    expect((await service.api("POST", "/v1/keys", { name: "A key" })).status).toBe(201);

    expect((await person.auth("POST", "confirm", { password: "a wrong one" })).status).toBe(403);
    const { cookie } = person;
    expect((await person.auth("POST", "confirm", { password: PASSWORD })).status).toBe(204);
    expect(person.cookie).not.toBe(cookie);
    expect((await person.api(ws, "POST", "/v1/secrets", { name: "A", value: "b" })).status).toBe(201);
    // Requests with the old token still end, but it does not count as confirmed.
    const old = new Browser(service.node.url, cookie);
    expect((await old.api(ws, "GET", "/v1/queues")).status).toBe(200);
    expect((await old.api(ws, "PATCH", "/v1/secrets/A", { value: "c" })).status).toBe(403);
    expect((await old.auth("POST", "confirm", { password: PASSWORD })).status).toBe(401);
    await service.clock.advance(30);
    expect((await old.api(ws, "GET", "/v1/queues")).status).toBe(401);
    await service.clock.advance(600);
    expect((await person.api(ws, "PATCH", "/v1/secrets/A", { value: "c" })).status).toBe(403);
  });
});

describe("invitations", () => {
  test("an operator makes a workspace, and invites its first admin without belonging to it", async ({ service }) => {
    const operator = await newPerson(service, { operator: true });
    const { body: made } = await operator.operate("POST", "/workspaces", { name: "Acme", plan: "pro" });
    expect((await operator.api(made.id, "POST", "/v1/invitations", { role: "admin" })).status).toBe(403);
    const path = `/workspaces/${made.id}/invitations`;
    const { status, body } = await operator.operate("POST", path, { role: "admin", email: "First@Example.com" });
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ role: "admin", email: "first@example.com", created_by: operator.id, mailed: false }),
    ]);
    const guest = new Browser(service.node.url);
    expect((await guest.auth("POST", `links/${tokenOf(body.url)}`, NEW)).status).toBe(204);
    expect((await guest.auth("GET", "session")).body.workspaces).toEqual([
      expect.objectContaining({ id: made.id, name: "Acme", plan: "pro", role: "admin" }),
    ]);
    const { body: events } = await guest.api(made.id, "GET", "/v1/audit-events?event_type=invitation.created");
    expect(events.data).toMatchObject([{ actor_id: operator.id, input: { role: "admin", email: "first@example.com" } }]);

    expect((await operate(service, "POST", `/admin/v1${path}`, { role: "read" })).body).toMatchObject({ created_by: "operator" });
    expect(
      (await operate(service, "POST", "/admin/v1/workspaces/ws_01kajv3k4ve6nsd9z5kgtzx0rw/invitations", { role: "read" })).status,
    ).toBe(404);
    const unconfirmed = await newPerson(service, { operator: true, confirmed: false });
    expect((await unconfirmed.operate("POST", path, { role: "admin" })).body.error.details).toEqual({ confirm: true });
    expect((await (await newPerson(service)).operate("POST", path, { role: "admin" })).status).toBe(403);
  });

  test("an operator lists the open invitations of a workspace, and revokes those that operators and members have made", async ({
    service,
  }) => {
    const operator = await newPerson(service, { role: null, operator: true });
    const { body: made } = await operator.operate("POST", "/workspaces", { name: "Acme" });
    const path = `/workspaces/${made.id}/invitations`;
    const first = (await operator.operate("POST", path, { role: "admin" })).body;
    const guest = new Browser(service.node.url);
    expect((await guest.auth("POST", `links/${tokenOf(first.url)}`, { ...NEW, email: "acme@example.com" })).status).toBe(204);
    const second = (await operate(service, "POST", `/admin/v1${path}`, { role: "write", email: "b@example.com" })).body;
    const third = (await guest.api(made.id, "POST", "/v1/invitations", { role: "read" })).body;
    const listed = async (query = "") => (await operator.operate("GET", `${path}${query}`)).body;
    expect(await listed("?limit=1")).toEqual({
      data: [expect.objectContaining({ id: third.id, role: "read", email: null })],
      next_cursor: third.id,
    });
    expect((await listed(`?cursor=${third.id}`)).data).toMatchObject([{ id: second.id, email: "b@example.com", created_by: "operator" }]);
    expect(JSON.stringify(await listed())).not.toContain("/link/");
    const elsewhere = `/workspaces/${service.workspaceId}/invitations`;
    expect((await operator.operate("DELETE", `${elsewhere}/${third.id}`)).status).toBe(404);
    expect((await operator.operate("DELETE", `${path}/${third.id}`)).status).toBe(204);
    expect((await operate(service, "DELETE", `/admin/v1${path}/${second.id}`)).status).toBe(204);
    expect((await operator.operate("DELETE", `${path}/${second.id}`)).status).toBe(404);
    expect((await listed()).data).toEqual([]);
    expect((await guest.auth("GET", `links/${tokenOf(third.url)}`)).status).toBe(404);
    const { body: events } = await guest.api(made.id, "GET", "/v1/audit-events?event_type=invitation.revoked");
    expect(events.data).toMatchObject([
      { actor_id: "operator", resource_id: second.id },
      { actor_id: operator.id, resource_id: third.id },
    ]);
    expect((await operator.operate("GET", "/workspaces/ws_01kajv3k4ve6nsd9z5kgtzx0rw/invitations")).status).toBe(404);
  });

  const invite = async (service: Service, body: object) => {
    const made = await service.ok("POST", "/v1/invitations", body);
    return { ...made, token: tokenOf(made.url) } as { id: string; token: string; url: string; mailed: boolean };
  };

  test("a guest makes an account with an open invitation, once, and gets its role", async ({ service }) => {
    const { id, token, mailed } = await invite(service, { role: "write" });
    expect(mailed).toBe(false);
    expect((await service.ok("GET", "/v1/invitations")).data).toMatchObject([{ id, role: "write", email: null }]);
    const guest = new Browser(service.node.url);
    expect((await guest.auth("GET", `links/${token}`)).body).toMatchObject({
      kind: "invitation",
      role: "write",
      workspace: { id: service.workspaceId, name: "Test" },
    });
    const email = `guest-${id}@example.com`;
    expect((await guest.auth("POST", `links/${token}`, { ...NEW, email })).status).toBe(204);
    expect((await guest.auth("GET", "session")).body).toMatchObject({
      person: { email, email_verified: false, operator: false },
      workspaces: [{ id: service.workspaceId, role: "write" }],
    });
    expect((await guest.auth("GET", `links/${token}`)).status).toBe(404);
    expect((await new Browser(service.node.url).auth("POST", `links/${token}`, { ...NEW, email: `x${email}` })).status).toBe(404);
    expect((await service.ok("GET", "/v1/invitations")).data).toEqual([]);
    const [event] = (await service.ok("GET", "/v1/audit-events?event_type=invitation.accepted")).data;
    expect(event).toMatchObject({ resource_id: id, input: { role: "write" } });
    expect(event.actor_id).toMatch(/^usr_/);
  });

  test("an account is only joined by who signs in to it, never by who names its address", async ({ service }) => {
    const person = await newPerson(service, { role: null });
    for (const body of [{ role: "read" }, { role: "read", email: person.email.toUpperCase() }]) {
      const { token } = await invite(service, body);
      const guest = new Browser(service.node.url);
      const refused = await guest.auth("POST", `links/${token}`, { ...NEW, email: person.email });
      expect(refused).toMatchObject({ status: 401, body: { error: { details: { sign_in_required: true } } } });
      expect(guest.cookie).toBe("");
      // The invitation is still good.
      expect((await guest.auth("GET", `links/${token}`)).status).toBe(200);
    }
    const { token } = await invite(service, { role: "read", email: person.email });
    expect((await person.auth("POST", `links/${token}`, {})).status).toBe(204);
    expect((await person.auth("GET", "session")).body.workspaces).toMatchObject([{ id: service.workspaceId, role: "read" }]);
    // The password is the one that it was.
    expect((await new Browser(service.node.url).auth("POST", "sign-in", { email: person.email, password: NEW.password })).status).toBe(401);
  });

  test("an invitation for an address is for nobody else, and a member keeps their role", async ({ service }) => {
    const person = await newPerson(service, { role: null });
    const admin = await newPerson(service);
    const { token } = await invite(service, { role: "write", email: "somebody@example.com" });
    expect((await person.auth("POST", `links/${token}`, {})).status).toBe(403);
    const { token: open } = await invite(service, { role: "read" });
    expect((await admin.auth("POST", `links/${open}`, {})).status).toBe(409);
    expect((await admin.api(service.workspaceId, "GET", "/v1/members")).status).toBe(200);
    expect((await person.auth("POST", `links/${open}`, {})).status).toBe(204);
    expect((await service.api("POST", "/v1/invitations", { role: "read", email: person.email })).status).toBe(409);
  });

  test("an invitation ends when it is revoked, after 72 hours, and with its workspace", async ({ service, database, clock }) => {
    const guest = new Browser(service.node.url);
    const deleted = new Service(service.node, database, clock, await newWorkspace(database));
    const revoked = await invite(service, { role: "read" });
    const old = await invite(service, { role: "read" });
    const homeless = await invite(deleted, { role: "read" });
    expect((await service.api("DELETE", `/v1/invitations/${revoked.id}`)).status).toBe(204);
    expect((await service.api("DELETE", `/v1/invitations/${revoked.id}`)).status).toBe(404);
    expect((await guest.auth("GET", `links/${revoked.token}`)).status).toBe(404);
    const take = (token: string) => guest.auth("POST", `links/${token}`, { ...NEW, email: "late@example.com" });
    expect((await take(revoked.token)).status).toBe(404);
    expect((await operate(service, "DELETE", `/admin/v1/workspaces/${deleted.workspaceId}`)).status).toBe(204);
    expect((await take(homeless.token)).status).toBe(404);
    await service.clock.advance(72 * 3600);
    expect((await take(old.token)).status).toBe(404);
    expect(await service.database.query("select from person where email = 'late@example.com'")).toEqual([]);
  });

  test("of several who use an invitation at the same time, one gets in", async ({ service }) => {
    const { id, token } = await invite(service, { role: "read" });
    const replies = await Promise.all(
      [1, 2, 3].map((n) => new Browser(service.node.url).auth("POST", `links/${token}`, { ...NEW, email: `${n}-${id}@example.com` })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 404, 404]);
    expect(await service.database.query("select from person where email like $1", [`%-${id}@example.com`])).toHaveLength(1);
  });

  test("an admin who is removed, or no longer one, cannot come back by an invitation of their own", async ({ service }) => {
    const ws = service.workspaceId;
    await newPerson(service);
    const cases = [
      ["DELETE", undefined],
      ["PATCH", { role: "read" }],
    ] as const;
    for (const [method, body] of cases) {
      const gone = await newPerson(service);
      const { id, url } = (await gone.api(ws, "POST", "/v1/invitations", { role: "admin" })).body;
      const kept = await invite(service, { role: "read" });
      expect((await service.api(method, `/v1/members/${gone.id}`, body)).status).toBeLessThan(300);
      expect((await new Browser(service.node.url).auth("GET", `links/${tokenOf(url)}`)).status).toBe(404);
      expect((await new Browser(service.node.url).auth("GET", `links/${kept.token}`)).status).toBe(200);
      const events = (await service.ok("GET", "/v1/audit-events?event_type=invitation.revoked")).data;
      expect(events.map((one: { resource_id: string }) => one.resource_id)).toContain(id);
    }
  });

  test("an invitation that a key has made ends when the key is revoked or expires", async ({ service, clock }) => {
    const makeKeyOf = async (expires_at: string | null) =>
      (await service.ok("POST", "/v1/keys", { name: "Inviter", role: "admin", expires_at })) as { id: string; key: string };
    const revoked = await makeKeyOf(null);
    const expiring = await makeKeyOf(new Date(clock.nowMs() + 60_000).toISOString());
    const by = async ({ key }: { key: string }) => {
      const reply = await service.api("POST", "/v1/invitations", { role: "admin" }, { authorization: `Bearer ${key}` });
      return { ...reply.body, token: tokenOf(reply.body.url) } as { id: string; token: string };
    };
    const [ofRevoked, ofExpiring] = [await by(revoked), await by(expiring)];
    const kept = await invite(service, { role: "read" });
    const guest = new Browser(service.node.url);
    const listed = async () => (await service.ok("GET", "/v1/invitations")).data.map(({ id }: { id: string }) => id);
    expect(await listed()).toEqual([kept.id, ofExpiring.id, ofRevoked.id]);
    expect((await service.api("DELETE", `/v1/keys/${revoked.id}`)).status).toBe(204);
    expect(await listed()).toEqual([kept.id, ofExpiring.id]);
    await service.advance(60);
    expect(await listed()).toEqual([kept.id]);
    for (const { id, token } of [ofRevoked, ofExpiring]) {
      expect((await guest.auth("GET", `links/${token}`)).status).toBe(404);
      expect((await guest.auth("POST", `links/${token}`, { ...NEW, email: `late-${id}@example.com` })).status).toBe(404);
      expect((await service.api("DELETE", `/v1/invitations/${id}`)).status).toBe(404);
    }
    expect((await guest.auth("GET", `links/${kept.token}`)).status).toBe(200);
  });

  test("a holder of invitations finds out of a few addresses only whether they have an account", async ({ service }) => {
    const [person, admin] = [await newPerson(service, { role: null }), await newPerson(service)];
    const make = async () => tokenOf((await admin.api(service.workspaceId, "POST", "/v1/invitations", { role: "read" })).body.url);
    const name = async (token: string, email: string) =>
      (await new Browser(service.node.url).auth("POST", `links/${token}`, { ...NEW, email })).status;
    await service.database.query("delete from throttle");
    for (let made = 0; made < 4; made += 1) {
      const token = await make();
      for (let n = 0; n < 5; n += 1) expect(await name(token, person.email)).toBe(401);
      expect(await name(token, person.email)).toBe(429);
      // Who signs in joins all the same.
      if (made === 0) expect((await person.auth("POST", `links/${token}`, {})).status).toBe(204);
    }
    await service.database.query("delete from throttle where key like 'link:%'");
    expect(await name(await make(), person.email)).toBe(429);
    // Invitations of others are as good as ever.
    const { token } = await invite(service, { role: "read" });
    expect(await name(token, `somebody-else-${person.email}`)).toBe(204);
  });
});
