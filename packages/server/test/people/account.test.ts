import { describe, expect } from "vitest";
import { Database, sql } from "#kernel";
import type { Reply } from "../harness/ask.ts";
import { inTurn } from "../harness/in-turn.ts";
import { Browser, newPerson, PASSWORD } from "../harness/people.ts";
import { test } from "../harness/service.ts";

const NEW_PASSWORD = "an entirely new password";

describe("a person's account", () => {
  test("a new password ends all other sessions, and the old password is good for nothing", async ({ service }) => {
    const person = await newPerson(service);
    const other = new Browser(service.node.url);
    await other.auth("POST", "sign-in", { email: person.email, password: PASSWORD });
    const { cookie } = person;
    expect((await person.auth("POST", "password", { password: PASSWORD, new_password: NEW_PASSWORD })).status).toBe(204);
    expect(person.cookie).not.toBe(cookie);
    expect((await person.auth("GET", "session")).body.person).toMatchObject({ id: person.id });
    expect((await other.auth("GET", "session")).body.person).toBeNull();
    expect((await new Browser(service.node.url, cookie).auth("GET", "session")).body.person).toBeNull();
    expect((await other.auth("POST", "sign-in", { email: person.email, password: PASSWORD })).status).toBe(401);
    expect((await other.auth("POST", "sign-in", { email: person.email, password: NEW_PASSWORD })).status).toBe(204);
  });

  test("a sign-in with the old password that began before the change does not outlive it", async ({ service, database }) => {
    const person = await newPerson(service);
    const engine = new Database({ connection: { connectionString: database.url }, size: 2, statementTimeoutMs: 20_000 });
    database.beforeClose(() => engine.close());
    const slow = new Browser(service.node.url);
    const replies: Promise<Reply>[] = [];
    // Both wait for the person: the one to change the password, the other, which has verified the old one, to open its session.
    await inTurn(engine, sql`select from person where email = ${person.email} for update`, [
      () => replies.push(person.auth("POST", "password", { password: PASSWORD, new_password: NEW_PASSWORD })),
      () => replies.push(slow.auth("POST", "sign-in", { email: person.email, password: PASSWORD })),
    ]);
    const [changed, signedIn] = await Promise.all(replies);
    expect(changed?.status).toBe(204);
    expect(signedIn?.status).toBe(401);
    expect((await slow.auth("GET", "session")).body.person).toBeNull();
  });

  test("sessions are listed and ended one by one, or all others together", async ({ service }) => {
    const person = await newPerson(service);
    const others = [new Browser(service.node.url), new Browser(service.node.url), new Browser(service.node.url)];
    for (const other of others) {
      await other.auth("POST", "sign-in", { email: person.email, password: PASSWORD }, { "user-agent": "A browser" });
    }
    const list = async () => (await person.auth("GET", "sessions")).body.data;
    const before = await list();
    expect(before).toHaveLength(4);
    expect(before.filter(({ current }: { current: boolean }) => current)).toHaveLength(1);
    const theirs = before.filter(({ current }: { current: boolean }) => !current);
    expect(theirs[0]).toMatchObject({ signed_in_with: "password", address: "127.0.0.1", user_agent: "A browser" });
    expect((await person.auth("DELETE", `sessions/${theirs[0].id}`)).status).toBe(204);
    expect((await person.auth("DELETE", `sessions/${theirs[0].id}`)).status).toBe(404);
    expect((await (others[2] as Browser).auth("GET", "session")).body.person).toBeNull();
    const stranger = await newPerson(service);
    expect((await stranger.auth("DELETE", `sessions/${theirs[1].id}`)).status).toBe(404);
    expect((await person.auth("DELETE", "sessions")).status).toBe(204);
    expect(await list()).toMatchObject([{ current: true }]);
    for (const other of others) expect((await other.auth("GET", "session")).body.person).toBeNull();
  });

  test("the name changes freely; the address only after confirming, and not to one that somebody has", async ({ service }) => {
    const person = await newPerson(service, { confirmed: false });
    const other = await newPerson(service);
    expect((await person.auth("PATCH", "profile", { name: "  Another name " })).status).toBe(204);
    const email = `new-${person.email}`;
    expect((await person.auth("PATCH", "profile", { email })).body.error.details).toEqual({ confirm: true });
    await person.auth("POST", "confirm", { password: PASSWORD });
    expect((await person.auth("PATCH", "profile", { email: other.email })).status).toBe(409);
    expect((await person.auth("PATCH", "profile", { email })).status).toBe(204);
    expect((await person.auth("GET", "session")).body.person).toMatchObject({ name: "Another name", email, email_verified: false });
  });

  test("without a session there is no account", async ({ service }) => {
    const nobody = new Browser(service.node.url);
    for (const [method, path, body] of [
      ["GET", "sessions"],
      ["DELETE", "sessions"],
      ["PATCH", "profile", { name: "x" }],
      ["POST", "password", { password: PASSWORD, new_password: NEW_PASSWORD }],
      ["POST", "confirm", { password: PASSWORD }],
    ] as const) {
      expect((await nobody.auth(method, path, body)).status).toBe(401);
    }
  });

  test("names have no control characters and no marks of text direction", async ({ service }) => {
    const person = await newPerson(service, { operator: true });
    const format = { path: "name", message: "must not contain control characters or marks of text direction" };
    for (const mark of ["\u0007", "\n", "\u0085", "\u061c", "\u200e", "\u200f", "\u2028", "\u202a", "\u202e", "\u2066", "\u2069"]) {
      const name = `Ada${mark}moc.elpmaxe`;
      for (const reply of [
        await person.auth("PATCH", "profile", { name }),
        await person.operate("POST", "/workspaces", { name }),
        await person.operate("PATCH", `/workspaces/${service.workspaceId}`, { name }),
        await person.auth("POST", "workspaces", { name }),
      ]) {
        expect(reply).toMatchObject({ status: 400, body: { error: { code: "VALIDATION_ERROR", details: { issues: [format] } } } });
      }
    }
    // Other scripts, and emoji that are joined, are names.
    for (const name of ["\u0645\u0631\u064a\u0645", "Zo\u00eb O'Neill", "\ud83d\udc69\u200d\ud83d\udcbb"]) {
      expect((await person.auth("PATCH", "profile", { name })).status).toBe(204);
      expect((await person.auth("GET", "session")).body.person.name).toBe(name);
    }
  });
});
