import { describe, expect } from "vitest";
import { type Statement, sql, uuidOf } from "#kernel";
import type { Reply } from "../harness/ask.ts";
import type { TestDatabase } from "../harness/database.ts";
import { test } from "../harness/engine.ts";
import { hold, isWaiting } from "../harness/locks.ts";
import { newPerson, type TestPerson } from "../harness/people.ts";
import { newWorkspace, type Service, until } from "../harness/service.ts";

type Act = (person: TestPerson, other: TestPerson, service: Service) => Promise<Reply>;

const LOCK = "for no key update";

/** Sends a request while a change is made that is committed only when the request waits for it, or has ended. */
async function duringChange(
  { engine, database }: { engine: Parameters<typeof hold>[0]; database: TestDatabase },
  change: Statement,
  send: () => Promise<Reply>,
  waitsFor = LOCK,
): Promise<Reply> {
  const made = hold(engine, change);
  await made.held;
  try {
    let ended = false;
    const reply = send().finally(() => {
      ended = true;
    });
    await until(async () => ended || (await isWaiting(database, waitsFor)), "the request to wait");
    await made.release();
    return await reply;
  } finally {
    await made.release();
  }
}

const counts = async (database: TestDatabase) => {
  const tables = ["link", "api_key", "workspace", "membership"];
  return Promise.all(tables.map(async (table) => (await database.query(`select from ${table}`)).length));
};

describe("an act that gives somebody rights is refused when those of its sender have just ended", () => {
  const ACTS: Record<string, Act> = {
    "an invitation": (person, _, { workspaceId }) => person.api(workspaceId, "POST", "/v1/invitations", { role: "admin" }),
    "a key": (person, _, { workspaceId }) => person.api(workspaceId, "POST", "/v1/keys", { name: "Way back", role: "admin" }),
    "another role": (person, other, { workspaceId }) => person.api(workspaceId, "PATCH", `/v1/members/${other.id}`, { role: "admin" }),
    "a removal": (person, other, { workspaceId }) => person.api(workspaceId, "DELETE", `/v1/members/${other.id}`),
  };
  test.for(Object.entries(ACTS))("in a workspace: %s", async ([, act], { service, engine, database }) => {
    const [person, other] = [await newPerson(service), await newPerson(service, { role: "read" })];
    await newPerson(service);
    const before = await counts(database);
    const change = sql`
      with locked as (select id from workspace where id = ${uuidOf("ws", service.workspaceId)} for no key update)
      update membership m set role = 'write' from locked where m.workspace_id = locked.id and m.person_id = ${uuidOf("usr", person.id)}`;
    const reply = await duringChange({ engine, database }, change, () => act(person, other, service));
    expect([reply.status, reply.body.error]).toMatchObject([403, { code: "FORBIDDEN" }]);
    expect(await counts(database)).toEqual(before);
  });

  test("in a workspace: a member", async ({ service, engine, database }) => {
    const elsewhere = await newWorkspace(database);
    const [person, other] = [await newPerson(service), await newPerson(service, { role: null })];
    for (const [{ id }, role] of [
      [person, "admin"],
      [other, "read"],
    ] as const) {
      const member = "insert into membership (workspace_id, person_id, role) values ($1, $2, $3)";
      await database.query(member, [uuidOf("ws", elsewhere.id), uuidOf("usr", id), role]);
    }
    const before = await counts(database);
    const change = sql`
      with locked as (select id from workspace where id = ${uuidOf("ws", service.workspaceId)} for no key update)
      update membership m set role = 'write' from locked where m.workspace_id = locked.id and m.person_id = ${uuidOf("usr", person.id)}`;
    const add = () => person.api(service.workspaceId, "POST", "/v1/members", { id: other.id, role: "admin" });
    expect((await duringChange({ engine, database }, change, add)).status).toBe(403);
    expect(await counts(database)).toEqual(before);
  });

  const OPERATOR_ACTS: Record<string, Act> = {
    "a workspace": (person) => person.operate("POST", "/workspaces", { name: "Mine" }),
    "a key": (person, _, { workspaceId }) => person.operate("POST", `/workspaces/${workspaceId}/keys`, { name: "Mine", role: "admin" }),
    "an invitation": (person, _, { workspaceId }) => person.operate("POST", `/workspaces/${workspaceId}/invitations`, { role: "admin" }),
  };
  test.for(Object.entries(OPERATOR_ACTS))("as an operator: %s", async ([, act], { service, engine, database }) => {
    const person = await newPerson(service, { role: null, operator: true });
    const before = await counts(database);
    const change = sql`update person set operator = false where id = ${uuidOf("usr", person.id)}`;
    const reply = await duringChange({ engine, database }, change, () => act(person, person, service));
    expect([reply.status, reply.body.error]).toMatchObject([403, { code: "FORBIDDEN" }]);
    expect(await counts(database)).toEqual(before);
  });

  test("with a key: another key", async ({ service, engine, database }) => {
    const { id, key } = await service.ok("POST", "/v1/keys", { name: "Admin", role: "admin" });
    const before = await counts(database);
    const change = sql`update api_key set revoked_at = moment() where id = ${uuidOf("key", id)}`;
    const headers = { authorization: `Bearer ${key}` };
    const make = () => service.api("POST", "/v1/keys", { name: "Way back", role: "admin" }, headers);
    expect((await duringChange({ engine, database }, change, make, "for share of k")).status).toBe(401);
    expect(await counts(database)).toEqual(before);
  });
});

test("an invitation that is being made while its sender is removed is revoked", async ({ service, engine, database }) => {
  const [person, admin] = [await newPerson(service), await newPerson(service)];
  const { workspaceId } = service;
  const chain = hold(engine, sql`select from audit_chain where workspace_id = ${uuidOf("ws", workspaceId)} for update`);
  await chain.held;
  const invitation = person.api(workspaceId, "POST", "/v1/invitations", { role: "admin" });
  let removal: Promise<Reply> | undefined;
  try {
    await until(() => isWaiting(database, "append_audit_event"), "the invitation to wait");
    removal = admin.api(workspaceId, "DELETE", `/v1/members/${person.id}`);
    await until(() => isWaiting(database, LOCK), "the removal to wait");
  } finally {
    await chain.release();
  }
  expect([(await invitation).status, (await removal)?.status]).toEqual([201, 204]);
  const token = (await invitation).body.url.split("/").at(-1);
  expect((await admin.auth("GET", `links/${token}`)).status).toBe(404);
});
