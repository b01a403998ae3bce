import { describe, expect } from "vitest";
import type { Database, WorkspaceId } from "#kernel";
import { recordMany, tamper, verified } from "../harness/audit.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";

const TODAY = Date.UTC(2026, 10, 21, 12);
const DAY_SECONDS = 86_400;

/** SQL that records events as dropped, as retention does, with hashes that join. */
const record = (workspaceId: WorkspaceId, from: number, to: number, droppedAt = "moment()"): string =>
  `insert into audit_dropped select a.workspace_id, ${from}, ${to}, a.previous, b.hash, ${droppedAt} from audit_event a, audit_event b
     where a.workspace_id = '${workspaceId}' and b.workspace_id = a.workspace_id and a.seq = ${from} and b.seq = ${to}`;

const remove = (workspaceId: WorkspaceId, from: number, to: number): string =>
  `delete from audit_event where workspace_id = '${workspaceId}' and seq between ${from} and ${to}`;

async function tenEvents(database: TestDatabase, engine: Database, retentionDays: number | null = 30): Promise<WorkspaceId> {
  const { workspaceId } = await putLane(database, { retentionDays });
  await recordMany(engine, workspaceId, 10);
  return workspaceId;
}

describe("a record of events that retention dropped is refused", () => {
  test.for([
    ["at the beginning", 1, 3],
    ["in the middle", 4, 6],
    ["at the end", 8, 10],
    ["from beginning to end", 1, 10],
  ] as const)("a record of a drop is refused when its events had not expired: %s", async ([, from, to], { database, engine, clock }) => {
    await clock.set(TODAY);
    const workspaceId = await tenEvents(database, engine);
    await clock.advance(29 * DAY_SECONDS);
    await tamper(database, `${record(workspaceId, from, to)}; ${remove(workspaceId, from, to)}`);
    expect((await verified(engine, workspaceId)).broken).toEqual({ seq: to, id: null, problem: "dropped_early" });
  });

  test("a record of a drop is refused when its events never expire", async ({ database, engine, clock }) => {
    await clock.set(TODAY);
    const workspaceId = await tenEvents(database, engine, null);
    await clock.advance(10_000 * DAY_SECONDS);
    await tamper(database, `${record(workspaceId, 4, 6)}; ${remove(workspaceId, 4, 6)}`);
    expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 6, problem: "dropped_early" });
  });

  test.for(["'2100-01-01'", "'infinity'"])(
    "a record of a drop is refused when it is dated in the future: %s",
    async (droppedAt, { database, engine, clock }) => {
      await clock.set(TODAY);
      const workspaceId = await tenEvents(database, engine);
      await tamper(database, `${record(workspaceId, 4, 6, droppedAt)}; ${remove(workspaceId, 4, 6)}`);
      expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 6, problem: "dropped_early" });
    },
  );

  test("a record of a drop is refused when it is dated before the events expired", async ({ database, engine, clock }) => {
    await clock.set(TODAY);
    const workspaceId = await tenEvents(database, engine);
    const forged = record(workspaceId, 4, 6);
    await clock.advance(31 * DAY_SECONDS);
    await tamper(database, `${forged.replace("moment()", "moment() - interval '2 days'")}; ${remove(workspaceId, 4, 6)}`);
    expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 6, problem: "dropped_early" });
  });

  test.for([
    ["the newest events", 30, 8],
    ["the newest events, which never expire", null, 8],
    ["all events", 30, 1],
    ["all events, which never expire", null, 1],
  ] as const)(
    "a record of a drop at the end is refused though the head was made to agree: %s",
    async ([, days, from], { database, engine, clock }) => {
      await clock.set(TODAY);
      const workspaceId = await tenEvents(database, engine, days);
      await clock.advance(2 * DAY_SECONDS);
      await tamper(
        database,
        `${record(workspaceId, from, 10)}; ${remove(workspaceId, from, 10)};
       update audit_chain set expires_at = moment() - interval '1 day' where workspace_id = '${workspaceId}'`,
      );
      expect((await verified(engine, workspaceId)).broken).toEqual({ seq: 10, id: null, problem: "dropped_early" });
    },
  );

  test("a record of a drop is refused when it overlaps another", async ({ database, engine, clock }) => {
    await clock.set(TODAY);
    const workspaceId = await tenEvents(database, engine);
    await clock.advance(31 * DAY_SECONDS);
    await tamper(database, `${record(workspaceId, 4, 6)}; ${record(workspaceId, 5, 7)}; ${remove(workspaceId, 4, 7)}`);
    expect((await verified(engine, workspaceId)).broken).toEqual({ seq: 5, id: null, problem: "added" });
  });

  test("a record of a drop is refused when its events are still there", async ({ database, engine, clock }) => {
    await clock.set(TODAY);
    const workspaceId = await tenEvents(database, engine);
    await clock.advance(31 * DAY_SECONDS);
    await tamper(database, record(workspaceId, 4, 6));
    expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq: 4, problem: "added" });
  });

  test("a record of a drop is refused when it goes beyond the head", async ({ database, engine, clock }) => {
    await clock.set(TODAY);
    const workspaceId = await tenEvents(database, engine);
    await clock.advance(31 * DAY_SECONDS);
    await tamper(
      database,
      `${record(workspaceId, 9, 10)}; update audit_dropped set to_seq = 12 where workspace_id = '${workspaceId}';
       ${remove(workspaceId, 9, 10)}`,
    );
    expect((await verified(engine, workspaceId)).broken).toEqual({ seq: 9, id: null, problem: "added" });
  });

  test("a record of a drop is refused when it does not join the record before it", async ({ database, engine, clock }) => {
    await clock.set(TODAY);
    const workspaceId = await tenEvents(database, engine);
    await clock.advance(31 * DAY_SECONDS);
    await tamper(
      database,
      `${record(workspaceId, 4, 5)}; ${record(workspaceId, 6, 7)}; ${remove(workspaceId, 4, 7)};
       update audit_dropped set hash = sha256('') where workspace_id = '${workspaceId}' and from_seq = 4`,
    );
    expect((await verified(engine, workspaceId)).broken).toEqual({ seq: 5, id: null, problem: "altered" });
  });
});

test("a record of events that had expired is accepted wherever they stood", async ({ database, engine, clock }) => {
  await clock.set(TODAY);
  for (const [from, to] of [
    [1, 3],
    [4, 6],
    [8, 10],
    [1, 10],
  ] as const) {
    await clock.set(TODAY);
    const workspaceId = await tenEvents(database, engine);
    await clock.advance(31 * DAY_SECONDS);
    await tamper(database, `${record(workspaceId, from, to)}; ${remove(workspaceId, from, to)}`);
    expect((await verified(engine, workspaceId)).broken).toBeNull();
  }
});
