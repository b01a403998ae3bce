import { describe, expect } from "vitest";
import { verifyAuditAcrossWorkspaces } from "#audit";
import type { Database, WorkspaceId } from "#kernel";
import { maintainPartitions } from "#retention";
import { appendMany, recordMany, tamper, verified } from "../harness/audit.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";

/** A workspace with ten events, one of which, and all that is like it, is put out of the way in SQL as `at(n)`. */
async function tenEvents(database: TestDatabase, engine: Database): Promise<{ workspaceId: WorkspaceId; at: (seq: number) => string }> {
  const { workspaceId } = await putLane(database);
  await recordMany(engine, workspaceId, 10);
  expect(await verified(engine, workspaceId)).toMatchObject({ events: 10, broken: null });
  return { workspaceId, at: (seq) => `workspace_id = '${workspaceId}' and seq = ${seq}` };
}

/** SQL that gives an event the right hash for its fields: the forger knows how it is computed. */
const REHASH = `hash = sha256(convert_to(concat(audit_field(encode(previous, 'hex')),
  audit_field(audit_moment(previous_expires_at)), audit_field(workspace_id::text), audit_field(seq::text),
  audit_field(id::text), audit_field(event_type), audit_field(audit_moment(occurred_at)), audit_field(actor_id), audit_field(resource_type),
  audit_field(resource_id), audit_field(input), audit_field(output), audit_field(audit_moment(expires_at))), 'UTF8'))`;

const COPIED =
  "workspace_id, seq, id, event_type, occurred_at, actor_id, resource_type, resource_id, input, output, previous, previous_expires_at, hash";

const idOf = async (database: TestDatabase, workspaceId: WorkspaceId, seq: number) =>
  (await database.query<{ id: string }>("select id from audit_event where workspace_id = $1 and seq = $2", [workspaceId, seq]))[0]?.id;

describe("an event whose field was changed is named", () => {
  test.for([
    "id = gen_random_uuid()",
    "event_type = 'thing.undone'",
    "occurred_at = occurred_at + interval '1 microsecond'",
    "actor_id = 'operator'",
    "resource_type = 'other'",
    "resource_id = '8'",
    "input = null",
    `input = '{"asked":"nothing"}'`,
    "output = ''",
    "output = input, input = null",
    "actor_id = actor_id || resource_type, resource_type = ''",
    "previous = hash",
    "previous_expires_at = 'infinity'",
    "hash = previous",
    "expires_at = expires_at + interval '1 second'",
    "expires_at = 'infinity'",
  ])("events that were taken away are missed: %s", async (change, { database, engine }) => {
    const { workspaceId, at } = await tenEvents(database, engine);
    await tamper(database, `update audit_event set ${change} where ${at(4)}; update audit_event set ${change} where ${at(7)}`);
    const { broken, events } = await verified(engine, workspaceId);
    expect(broken).toEqual({ seq: 4, id: expect.stringMatching(/^aud_\w{26}$/), problem: "altered" });
    expect(events).toBe(4);
  });

  test.for([1, 4, 10])(
    "an event whose field was changed is named though its hash was made to fit: the %ith",
    async (seq, { database, engine }) => {
      const { workspaceId, at } = await tenEvents(database, engine);
      await tamper(
        database,
        `update audit_event set actor_id = 'nobody' where ${at(seq)}; update audit_event set ${REHASH} where ${at(seq)}`,
      );
      expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq, id: expect.any(String), problem: "altered" });
    },
  );

  test("an event whose field was changed is named though it was moved to another time to expire", async ({ database, engine }) => {
    const { workspaceId, at } = await tenEvents(database, engine);
    await tamper(database, `update audit_event set expires_at = '2027-03-01T00:00:00Z' where ${at(5)}`);
    expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 5, problem: "altered" });
  });
});

describe("events that were taken away are missed", () => {
  test.for([
    ["the first", "seq = 1", 1],
    ["some at the beginning", "seq <= 3", 1],
    ["one in the middle", "seq = 5", 5],
    ["several in the middle", "seq in (6, 7, 9)", 6],
    ["the last", "seq = 10", 10],
    ["the tail", "seq >= 8", 8],
    ["all", "true", 1],
  ] as const)("events that were taken away are missed: %s", async ([, which, seq], { database, engine }) => {
    const { workspaceId } = await tenEvents(database, engine);
    await tamper(database, `delete from audit_event where workspace_id = '${workspaceId}' and ${which}`);
    expect((await verified(engine, workspaceId)).broken).toEqual({ seq, id: null, problem: "missing" });
  });

  test("events that were taken away are missed though those after them moved up, with hashes that fit", async ({ database, engine }) => {
    const { workspaceId, at } = await tenEvents(database, engine);
    await tamper(
      database,
      `delete from audit_event where ${at(5)}; update audit_event set seq = seq - 1 where workspace_id = '${workspaceId}' and seq > 5;
       update audit_event set ${REHASH} where workspace_id = '${workspaceId}' and seq >= 5`,
    );
    expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 4, problem: "altered" });
  });

  test("events that were taken away are missed though retention is said to have dropped more, or something else", async ({
    database,
    engine,
  }) => {
    for (const [from, to, changed] of [
      [4, 6, ""],
      [5, 7, ""],
      [5, 6, "hash = sha256('')"],
      [5, 6, "previous = sha256('')"],
    ] as const) {
      const { workspaceId } = await tenEvents(database, engine);
      await tamper(
        database,
        `insert into audit_dropped select a.workspace_id, ${from}, ${to}, a.previous, b.hash, now() from audit_event a, audit_event b
           where a.workspace_id = '${workspaceId}' and b.workspace_id = a.workspace_id and a.seq = 5 and b.seq = 6;
         delete from audit_event where workspace_id = '${workspaceId}' and seq in (5, 6)`,
      );
      if (changed) await database.query(`update audit_dropped set ${changed} where workspace_id = '${workspaceId}'`);
      expect([from, to, changed, (await verified(engine, workspaceId)).broken]).toEqual([from, to, changed, expect.objectContaining({})]);
    }
  });
});

describe("events that the service did not write are found", () => {
  test("an event that stands twice is found, to expire at another time", async ({ database, engine }) => {
    const { workspaceId, at } = await tenEvents(database, engine);
    await tamper(
      database,
      `insert into audit_event (${COPIED}, expires_at) select ${COPIED}, expires_at + interval '1 second' from audit_event where ${at(6)}`,
    );
    expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 6, id: expect.any(String), problem: "added" });
  });

  test("an event that stands twice is found where a page ends between the two", async ({ database, engine }) => {
    const { workspaceId, at } = await tenEvents(database, engine);
    await appendMany(database, workspaceId, 600);
    expect((await verified(engine, workspaceId)).broken).toBeNull();
    await tamper(
      database,
      `insert into audit_event (${COPIED}, expires_at) select ${COPIED}, expires_at + interval '1 second' from audit_event where ${at(500)}`,
    );
    expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 500, problem: "added" });
  });

  test("an event behind the last one is found, though its hash fits", async ({ database, engine }) => {
    const { workspaceId, at } = await tenEvents(database, engine);
    await tamper(
      database,
      `insert into audit_event (${COPIED}, expires_at) select workspace_id, 11, gen_random_uuid(), event_type, occurred_at, actor_id,
         resource_type, resource_id, input, output, hash, expires_at, hash, expires_at from audit_event where ${at(10)};
       update audit_event set ${REHASH} where ${at(11)}`,
    );
    expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 11, problem: "added" });
  });

  test("every event of a chain whose head was taken away is found", async ({ database, engine }) => {
    const { workspaceId } = await tenEvents(database, engine);
    await database.query("delete from audit_chain where workspace_id = $1", [workspaceId]);
    expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 1, problem: "added" });
  });
});

test("two events that changed places are found at the first", async ({ database, engine }) => {
  const { workspaceId, at } = await tenEvents(database, engine);
  const before = await idOf(database, workspaceId, 8);
  await tamper(
    database,
    `update audit_event set seq = 100 where ${at(3)}; update audit_event set seq = 3 where ${at(8)}; update audit_event set seq = 8 where ${at(100)}`,
  );
  expect(await idOf(database, workspaceId, 3)).toBe(before);
  expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 3, problem: "altered" });
});

test("a head that does not fit the last event is found there", async ({ database, engine }) => {
  const { workspaceId } = await tenEvents(database, engine);
  await database.query("update audit_chain set hash = sha256('') where workspace_id = $1", [workspaceId]);
  expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 10, problem: "altered" });
});

test("a chain outlives a workspace that was deleted behind the service's back", async ({ database, engine }) => {
  const { workspaceId, at } = await tenEvents(database, engine);
  await database.query("delete from workspace where id = $1", [workspaceId]);
  expect(await verified(engine, workspaceId)).toMatchObject({ events: 10, broken: null });
  await tamper(database, `delete from audit_event where ${at(10)}`);
  expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 10, problem: "missing" });
});

describe("a head that was noted elsewhere", () => {
  test("a head that was noted elsewhere shows that nothing is left of its chain", async ({ database, engine }) => {
    const { workspaceId } = await tenEvents(database, engine);
    const noted = await verified(engine, workspaceId);
    await tamper(
      database,
      `delete from audit_event where workspace_id = '${workspaceId}'; delete from audit_chain where workspace_id = '${workspaceId}';
       delete from workspace where id = '${workspaceId}'`,
    );
    const gone = { ...noted, events: 0, broken: { seq: 10, id: null, problem: "missing" } };
    expect(await verifyAuditAcrossWorkspaces(engine, workspaceId, [noted])).toEqual([gone]);
    expect(await verifyAuditAcrossWorkspaces(engine, null, [noted])).toContainEqual(gone);
    expect(await verifyAuditAcrossWorkspaces(engine, "00000000-0000-4000-8000-000000000000" as WorkspaceId, [noted])).toEqual([]);
  });

  test("a head that was noted elsewhere fits a chain that went on, and was dropped in part", async ({ database, engine, clock }) => {
    const keepDays = (days: number) => database.query("update workspace set retention_days = $2 where id = $1", [workspaceId, days]);
    await clock.set(Date.UTC(2026, 10, 21, 12));
    const { workspaceId } = await putLane(database, { retentionDays: 365 });
    await recordMany(engine, workspaceId, 8);
    await keepDays(7);
    await recordMany(engine, workspaceId, 2);
    const noted = await verified(engine, workspaceId);
    expect(await verifyAuditAcrossWorkspaces(engine, workspaceId, [noted])).toEqual([noted]);
    await recordMany(engine, workspaceId, 1);
    await keepDays(365);
    await recordMany(engine, workspaceId, 2);
    expect(await verifyAuditAcrossWorkspaces(engine, workspaceId, [noted])).toMatchObject([{ events: 13, broken: null }]);
    await clock.set(Date.UTC(2026, 11, 1));
    await maintainPartitions(engine, () => {});
    expect(await verifyAuditAcrossWorkspaces(engine, workspaceId, [noted])).toMatchObject([{ events: 10, broken: null }]);
  });

  test("a head that was noted elsewhere shows a chain that was made anew as a whole, and one that was cut with its head", async ({
    database,
    engine,
  }) => {
    const { workspaceId } = await tenEvents(database, engine);
    const noted = await verified(engine, workspaceId);
    await tamper(
      database,
      `delete from audit_event where workspace_id = '${workspaceId}'; delete from audit_chain where workspace_id = '${workspaceId}'`,
    );
    await recordMany(engine, workspaceId, 9);
    expect((await verified(engine, workspaceId)).broken).toBeNull();
    expect(await verifyAuditAcrossWorkspaces(engine, workspaceId, [noted])).toMatchObject([
      { broken: { seq: 10, id: null, problem: "missing" } },
    ]);
    await recordMany(engine, workspaceId, 2);
    expect((await verified(engine, workspaceId)).broken).toBeNull();
    expect(await verifyAuditAcrossWorkspaces(engine, workspaceId, [noted])).toMatchObject([{ broken: { seq: 10, problem: "altered" } }]);
  });
});

test("each workspace is told apart, and the broken ones are named", async ({ database, engine }) => {
  const [whole, broken] = [await tenEvents(database, engine), await tenEvents(database, engine)];
  const { workspaceId: empty } = await putLane(database);
  await tamper(database, `update audit_event set actor_id = 'nobody' where ${broken.at(2)}`);
  const reports = await verifyAuditAcrossWorkspaces(engine, null);
  const [ofWhole, ofBroken, ofEmpty] = await Promise.all(
    [whole.workspaceId, broken.workspaceId, empty].map((workspaceId) => verified(engine, workspaceId)),
  );
  expect(reports).toEqual(expect.arrayContaining([ofWhole, ofBroken, ofEmpty]));
  expect([ofWhole?.broken, ofBroken?.broken?.seq, ofEmpty]).toEqual([null, 2, expect.objectContaining({ events: 0, broken: null })]);
  expect(await verifyAuditAcrossWorkspaces(engine, "00000000-0000-4000-8000-000000000000" as WorkspaceId)).toEqual([]);
});

test("what is appended while a chain is verified does not disturb it", async ({ database, engine }) => {
  const { workspaceId } = await tenEvents(database, engine);
  const [, ...reports] = await Promise.all([
    recordMany(engine, workspaceId, 40),
    ...Array.from({ length: 10 }, () => verified(engine, workspaceId)),
  ]);
  expect(reports.map(({ broken }) => broken)).toEqual(Array(10).fill(null));
  expect(await verified(engine, workspaceId)).toMatchObject({ events: 50, broken: null });
});
