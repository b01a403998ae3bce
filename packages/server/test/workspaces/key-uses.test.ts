import { describe, expect } from "vitest";
import type { Db, Statement, Uuid } from "#kernel";
import { KeyUses } from "../../src/workspaces/key-uses.ts";
import type { TestDatabase } from "../harness/database.ts";
import { test } from "../harness/engine.ts";
import type { Service } from "../harness/service.ts";

/** A database that counts its statements. */
const counting = (db: Db) => {
  const counted = {
    statements: 0,
    query: (statement: Statement) => {
      counted.statements += 1;
      return db.query(statement);
    },
  };
  return counted;
};

/** Ids of keys of the service's workspace. */
async function keysOf(service: Service, count: number): Promise<Uuid[]> {
  for (let n = 0; n < count; n += 1) await service.ok("POST", "/v1/keys", { name: `key ${n}` });
  const found = await service.database.query<{ id: Uuid }>(
    `select id from api_key where name like 'key %' and workspace_id = (select workspace_id from api_key where hash = sha256($1::text::bytea))
     order by id`,
    [service.key],
  );
  return found.map(({ id }) => id);
}

/** When each key was last used, in milliseconds since 1970. */
const lastUses = async (database: TestDatabase, ids: readonly Uuid[]): Promise<(number | null)[]> =>
  (await database.query<{ at: Date | null }>("select last_used_at as at from api_key where id = any($1) order by id", [ids])).map(
    ({ at }) => at?.getTime() ?? null,
  );

describe("what requests do with keys", () => {
  test("uses of keys are written for all keys in one statement, and where nothing was used in none", async ({
    service,
    clock,
    engine,
    database,
  }) => {
    const ids = await keysOf(service, 3);
    const db = counting(engine);
    const uses = new KeyUses(db, clock);
    await uses.write();
    expect(db.statements).toBe(0);
    for (const id of [...ids].reverse().slice(0, 2)) uses.record(id);
    const usedMs = clock.nowMs();
    await clock.advance(1);
    await uses.write();
    expect([db.statements, await lastUses(database, ids)]).toEqual([1, [null, usedMs, usedMs]]);
    await clock.advance(120);
    await uses.write();
    await uses.flush();
    expect(db.statements).toBe(1);
  });

  test("uses of keys are written once a minute for each key, and then as they last were", async ({ service, clock, engine, database }) => {
    const ids = await keysOf(service, 2);
    const [busy, other] = ids as [Uuid, Uuid];
    const db = counting(engine);
    const uses = new KeyUses(db, clock);
    const firstMs = clock.nowMs();
    uses.record(busy);
    await uses.write();
    await clock.advance(30);
    uses.record(busy);
    uses.record(other);
    await uses.write();
    expect([db.statements, await lastUses(database, ids)]).toEqual([2, [firstMs, firstMs + 30_000]]);
    await clock.advance(29.999);
    await uses.write();
    expect(db.statements).toBe(2);
    await clock.advance(0.001);
    await uses.write();
    expect([db.statements, await lastUses(database, ids)]).toEqual([3, [firstMs + 30_000, firstMs + 30_000]]);
  });

  test("uses of keys are written at once when the node stops", async ({ service, clock, engine, database }) => {
    const ids = await keysOf(service, 1);
    const uses = new KeyUses(engine, clock);
    uses.record(ids[0] as Uuid);
    await uses.write();
    await clock.advance(1);
    uses.record(ids[0] as Uuid);
    await uses.flush();
    expect(await lastUses(database, ids)).toEqual([clock.nowMs()]);
  });

  test("uses of keys never move a key's last use back: another node may have seen a later one", async ({
    service,
    clock,
    engine,
    database,
  }) => {
    const ids = await keysOf(service, 1);
    const [early, late] = [new KeyUses(engine, clock), new KeyUses(engine, clock)];
    early.record(ids[0] as Uuid);
    await clock.advance(1);
    late.record(ids[0] as Uuid);
    await late.write();
    await early.write();
    expect(await lastUses(database, ids)).toEqual([clock.nowMs()]);
  });

  test("uses of keys are kept when they cannot be written, and when they come during a write", async ({
    service,
    clock,
    engine,
    database,
  }) => {
    const ids = await keysOf(service, 2);
    const [one, other] = ids as [Uuid, Uuid];
    let during = () => Promise.reject<void>(new Error("The database is away."));
    const uses = new KeyUses({ query: (statement) => during().then(() => engine.query(statement)) }, clock);
    uses.record(one);
    const firstMs = clock.nowMs();
    await expect(uses.write()).rejects.toThrow("away");
    during = async () => {
      await clock.advance(1);
      uses.record(one);
      uses.record(other);
    };
    await uses.write();
    expect(await lastUses(database, ids)).toEqual([firstMs, null]);
    during = () => Promise.resolve();
    await clock.advance(60);
    await uses.write();
    expect(await lastUses(database, ids)).toEqual([firstMs + 1_000, firstMs + 1_000]);
  });
});
