import { expect } from "vitest";
import { maintainPartitions } from "#retention";
import { record } from "../harness/audit.ts";
import { putLane, test } from "../harness/engine.ts";

const REFUSED = /^audit_event is append-only: (update|delete|truncate) is refused$/;

const CHANGES = [
  "update audit_event set output = '{}'",
  "update audit_event set expires_at = 'infinity'",
  "update audit_event_2027_11 set actor_id = 'nobody'",
  "update audit_event_later set hash = previous",
  "delete from audit_event",
  "delete from audit_event_2027_11",
  "delete from only audit_event_later",
  "truncate audit_event",
  "truncate audit_event_2027_11",
  "truncate audit_event_later",
  "update audit_event_forever set hash = previous",
  "delete from only audit_event_forever",
  "truncate audit_event_forever",
  "truncate audit_event_2028_01 cascade",
];

test.for([...CHANGES, ...CHANGES.map((change) => `set session_replication_role = replica; ${change}`)])(
  "a superuser's %s is refused",
  async (statement, { database, engine, node }) => {
    expect(node.url).toMatch(/^http/);
    await record(engine, (await putLane(database)).workspaceId);
    await record(engine, (await putLane(database, { retentionDays: 3_650 })).workspaceId);
    await record(engine, (await putLane(database, { retentionDays: null })).workspaceId);
    const before = await database.query("select * from audit_event order by workspace_id, seq");
    expect(new Set((await database.query("select tableoid::regclass::text as name from audit_event")).map(({ name }) => name))).toEqual(
      new Set(["audit_event_2027_11", "audit_event_later", "audit_event_forever"]),
    );
    await expect(database.query(statement)).rejects.toThrow(REFUSED);
    expect(await database.query("select * from audit_event order by workspace_id, seq")).toEqual(before);
  },
);

test("no partition can be emptied, whenever it was made", async ({ database, engine, clock }) => {
  await clock.set(Date.UTC(2026, 10, 21, 12));
  await maintainPartitions(engine, () => {});
  const names = await database.query<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit_event'::regclass",
  );
  expect(names).toHaveLength(17 + 24);
  for (const { name } of names) await expect(database.query(`truncate ${name}`)).rejects.toThrow(REFUSED);
});

test("every trigger that refuses changes fires whatever the session's role in replication is", async ({ database, engine, clock }) => {
  await clock.set(Date.UTC(2026, 10, 21, 12));
  await maintainPartitions(engine, () => {});
  const triggers = await database.query<{ enabled: string }>(
    "select tgenabled as enabled from pg_trigger where tgfoid = 'refuse_change'::regproc",
  );
  expect(triggers).toHaveLength(2 * (18 + 24));
  expect(new Set(triggers.map(({ enabled }) => enabled))).toEqual(new Set(["A"]));
});

test("what the service itself runs is refused too, in a workspace's session and across", async ({ database, engine, tenants }) => {
  const { workspaceId } = await putLane(database);
  await record(engine, workspaceId);
  for (const db of [engine, tenants.of(workspaceId)]) {
    for (const text of ["update audit_event set output = null", "delete from audit_event"]) {
      await expect(db.query({ name: text, text, values: [] })).rejects.toThrow(REFUSED);
    }
  }
});
