import { describe, expect } from "vitest";
import { Browser, newPerson, PASSWORD } from "../harness/people.ts";
import { test } from "../harness/service.ts";

describe("sign-in", () => {
  test("a person signs in with mail address and password, and out again", async ({ service }) => {
    const person = await newPerson(service);
    const browser = new Browser(service.node.url);
    expect((await browser.auth("GET", "session")).body).toMatchObject({ person: null, workspaces: [], confirmed_until: null });
    const reply = await browser.auth("POST", "sign-in", { email: person.email.toUpperCase(), password: PASSWORD });
    expect(reply.status).toBe(204);
    expect(reply.headers.getSetCookie()[0]).toMatch(
      /^tidemill_session=[\w-]{43}; Max-Age=2592000; Path=\/dashboard; HttpOnly; SameSite=Lax$/,
    );
    expect((await browser.auth("GET", "session")).body).toMatchObject({
      person: { id: person.id, email: person.email, operator: false, has_password: true, totp: false },
      workspaces: [{ id: service.workspaceId, role: "admin", plan: "enterprise" }],
      confirmed_until: "2026-11-21T12:10:00.000Z",
    });
    const { cookie } = browser;
    expect((await browser.auth("POST", "sign-out")).status).toBe(204);
    expect(browser.cookie).toBe("");
    const old = new Browser(service.node.url, cookie);
    expect((await old.api(service.workspaceId, "GET", "/v1/queues")).status).toBe(401);
  });

  test("a wrong password, an unknown address and a person without a password get the same answer", async ({ service }) => {
    const person = await newPerson(service);
    const without = await newPerson(service);
    await service.database.query("update person set password_hash = null where email = $1", [without.email]);
    const browser = new Browser(service.node.url);
    const replies = [];
    for (const [email, password] of [
      [person.email, "not the password"],
      ["nobody@example.com", PASSWORD],
      [without.email, PASSWORD],
    ]) {
      const { status, text, headers } = await browser.auth("POST", "sign-in", { email, password });
      replies.push({ status, text, cookie: headers.get("set-cookie") });
    }
    expect(replies[0]).toMatchObject({ status: 401, cookie: null });
    expect(replies[1]).toEqual(replies[0]);
    expect(replies[2]).toEqual(replies[0]);
  });

  test("what no database can store is refused as any other nonsense", async ({ service }) => {
    const browser = new Browser(service.node.url);
    const email = "a\u0000@example.com";
    expect((await browser.auth("POST", "sign-in", { email, password: PASSWORD })).status).toBe(400);
    expect((await browser.auth("POST", "reset", { email })).status).toBe(400);
    const { port } = new URL(service.node.url);
    const answer = await browser.auth("POST", "passkeys/sign-in", { response: { id: "a\u0000" } }, { host: `localhost:${port}` });
    expect(answer.status).toBe(401);
  });

  test("a sign-in ends the session that the browser had", async ({ service }) => {
    const person = await newPerson(service);
    const { cookie } = person;
    await person.auth("POST", "sign-in", { email: person.email, password: PASSWORD });
    expect(person.cookie).not.toBe(cookie);
    const old = new Browser(service.node.url, cookie);
    expect((await old.auth("GET", "session")).body.person).toBeNull();
  });
});

describe("sessions", () => {
  test("a session ends after 12 hours without use", async ({ service }) => {
    const person = await newPerson(service);
    const use = async () => (await person.api(service.workspaceId, "GET", "/v1/queues")).status;
    await service.clock.advance(11 * 3600);
    expect(await use()).toBe(200);
    await service.clock.advance(11 * 3600);
    expect(await use()).toBe(200);
    await service.clock.advance(12 * 3600 + 60);
    expect(await use()).toBe(401);
  });

  test("a session ends after 30 days though it is used", async ({ service }) => {
    const person = await newPerson(service);
    const use = async () => (await person.api(service.workspaceId, "GET", "/v1/queues")).status;
    await service.database.query("update session set expires_at = moment() + interval '1 hour'");
    expect(await use()).toBe(200);
    await service.clock.advance(3600);
    expect(await use()).toBe(401);
  });

  test("only hashes of tokens are stored", async ({ service }) => {
    const person = await newPerson(service);
    await person.auth("POST", "sign-in", { email: person.email, password: PASSWORD });
    const stored = await service.database.query<{ text: string }>("select session::text as text from session");
    expect(stored.length).toBeGreaterThan(0);
    for (const { text } of stored) expect(text).not.toContain(person.cookie.split("=")[1]);
  });
});

describe("the API for pages", () => {
  test("a person has the role of their membership, and is the actor in the audit log", async ({ service }) => {
    const writer = await newPerson(service, { role: "write" });
    const reader = await newPerson(service, { role: "read" });
    expect((await writer.api(service.workspaceId, "POST", "/v1/queues", { name: "of-a-person" })).status).toBe(201);
    expect((await reader.api(service.workspaceId, "GET", "/v1/queues/of-a-person")).status).toBe(200);
    const refused = await reader.api(service.workspaceId, "POST", "/v1/queues", { name: "another" });
    expect(refused).toMatchObject({ status: 403, body: { error: { code: "FORBIDDEN", details: { role: "read", needs: "write" } } } });
    const { data } = await service.ok("GET", "/v1/audit-events?event_type=queue.created");
    expect(data[0]).toMatchObject({ actor_id: writer.id, resource_id: "of-a-person" });
    expect((await service.ok("GET", `/v1/audit-events?actor_id=${writer.id}`)).data).toHaveLength(1);
  });

  test("a workspace that the person does not belong to does not exist for them", async ({ service }) => {
    const stranger = await newPerson(service, { role: null });
    const ids = [service.workspaceId, `ws_${"0".repeat(26)}`, "nonsense"];
    for (const id of ids) {
      const { status, text } = await stranger.api(id, "GET", "/v1/queues");
      expect(status).toBe(404);
      expect(text.replaceAll(id, "ID")).toBe(
        '{"error":{"code":"NOT_FOUND","message":"There is no workspace \\"ID\\".","details":{"resource":"workspace","id":"ID"}}}',
      );
    }
  });

  test("an operator uses the operator API, others do not", async ({ service }) => {
    const operator = await newPerson(service, { role: null, operator: true });
    const admin = await newPerson(service);
    expect((await operator.operate("GET", `/workspaces/${service.workspaceId}`)).body).toMatchObject({ id: service.workspaceId });
    expect((await admin.operate("GET", `/workspaces/${service.workspaceId}`)).status).toBe(403);
    // Operators may read every workspace.
    expect((await operator.api(service.workspaceId, "GET", "/v1/queues")).status).toBe(200);
    expect((await operator.api(service.workspaceId, "POST", "/v1/queues", { name: "q" })).status).toBe(403);
    const renamed = await operator.operate("PATCH", `/workspaces/${service.workspaceId}`, { name: "By a person" });
    expect(renamed.status).toBe(200);
    const { data } = await service.ok("GET", "/v1/audit-events?event_type=workspace.updated");
    expect(data[0]).toMatchObject({ actor_id: operator.id });
  });

  test("the plan's rate limit holds for people", async ({ service }) => {
    const person = await newPerson(service);
    await service.database.query("update workspace set requests_per_minute = 2 where name = 'Test'");
    const statuses = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await person.api(service.workspaceId, "GET", "/v1/queues")).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await person.api(service.workspaceId, "GET", "/v1/no-such-route")).status).toBe(429);
    await service.database.query("update workspace set requests_per_minute = null");
  });
});
