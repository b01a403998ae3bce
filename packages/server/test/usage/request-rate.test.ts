import { describe, expect } from "vitest";
import type { Db, Statement, WorkspaceId } from "#kernel";
import { RequestRate } from "../../src/usage/request-rate.ts";
import { test as base, putLane } from "../harness/engine.ts";

const START = Date.UTC(2026, 10, 21, 12);

/** A clock that a test sets, for the node only. */
class SetClock {
  ms = START;
  elapsed = 0;
  nowMs = () => this.ms;
  elapsedMs = () => this.elapsed;
}

/** A database that a test can make unavailable. It counts its statements. */
class BreakableDb implements Db {
  readonly #db: Db;
  statements = 0;
  isBroken = false;

  constructor(db: Db) {
    this.#db = db;
  }

  async query(statement: Statement) {
    this.statements += 1;
    if (this.isBroken) throw new Error("The store is away.");
    return this.#db.query(statement);
  }
}

const test = base.extend("stand", async ({ engine, database }) => {
  const road = new BreakableDb(engine);
  const time = new SetClock();
  const events: string[] = [];
  const rate = new RequestRate({ db: road, clock: time, emit: (event) => void events.push(event) });
  const { workspaceId } = await putLane(database);
  /** Sends this many requests at once. Returns how many were allowed. */
  const send = async (count: number, limit = 10, by: WorkspaceId = workspaceId) => {
    const taken = await Promise.all(Array.from({ length: count }, () => rate.take(by, limit)));
    return taken.filter(({ granted }) => granted).length;
  };
  return { road, time, events, rate, send, workspaceId };
});

describe("requests that come together", () => {
  test("requests of many workspaces that come together are one statement, and each has its own limit", async ({ stand, database }) => {
    const { road, send } = stand;
    const workspaces = await Promise.all(Array.from({ length: 20 }, async () => (await putLane(database)).workspaceId));
    expect(await Promise.all(workspaces.map((workspaceId, n) => send(10, n, workspaceId)))).toEqual(
      workspaces.map((_, n) => Math.min(10, n)),
    );
    expect(road.statements).toBe(1);
  });

  test("requests that come together each say another figure of what is left", async ({ stand: { rate, workspaceId } }) => {
    const taken = await Promise.all(Array.from({ length: 5 }, () => rate.take(workspaceId, 3)));
    expect(taken.map(({ granted, remaining }) => [granted, remaining])).toEqual([
      [true, 2],
      [true, 1],
      [true, 0],
      [false, 0],
      [false, 0],
    ]);
  });
});

describe("a flood far over the limit", () => {
  test("a flood far over the limit costs a statement when something is free again, and none before", async ({
    stand: { road, time, send },
    clock,
  }) => {
    expect(await send(500)).toBe(10);
    expect(road.statements).toBe(1);
    for (let second = 1; second < 61; second += 1) {
      time.ms = START + second * 1000;
      expect(await send(200)).toBe(0);
    }
    expect(road.statements).toBe(1);
    time.ms = START + 61_000;
    await clock.set(time.ms);
    expect(await send(500)).toBe(10);
    expect(road.statements).toBe(2);
    await clock.set(START);
  });

  test("a flood far over the limit writes nothing on a node that did not know of it", async ({
    stand: { rate, send, workspaceId },
    engine,
    database,
  }) => {
    await send(10);
    const rowNow = () => database.query("select ctid, xmin, xmax from request_rate where workspace_id = $1", [workspaceId]);
    const before = await rowNow();
    const other = new RequestRate({ db: engine, clock: new SetClock(), emit: () => {} });
    const taken = await Promise.all(Array.from({ length: 1_000 }, () => other.take(workspaceId, 10)));
    expect(taken.every(({ granted }) => !granted)).toBe(true);
    expect(await rowNow()).toEqual(before);
    expect(await rate.peek(workspaceId, 10)).toEqual({ limit: 10, remaining: 0, resets_at: "2026-11-21T12:01:01.000Z" });
  });

  test("a flood far over the limit is no reason to refuse under another limit", async ({ stand: { send } }) => {
    expect(await send(20)).toBe(10);
    expect(await send(20, 15)).toBe(5);
    expect(await send(20, 12)).toBe(0);
  });

  test("a flood far over the limit ends for a node whose clock was far behind", async ({ stand: { time, send }, clock }) => {
    expect(await send(20)).toBe(10);
    await clock.set(START + 61_000);
    time.ms = START - 3_600_000;
    expect(await send(20)).toBe(10);
    await clock.set(START);
  });
});

describe("a store that is away", () => {
  test("a node lets through what fits the limit by its own count while the store is away, and says so once", async ({ stand }) => {
    const { road, time, events, send } = stand;
    expect(await send(4)).toBe(4);
    road.isBroken = true;
    expect(await send(4)).toBe(4);
    expect(await send(20)).toBe(2);
    for (let second = 1; second < 61; second += 1) {
      time.ms = START + second * 1000;
      time.elapsed = second * 1000;
      expect(await send(20)).toBe(0);
    }
    time.ms = START + 61_000;
    expect(await send(20)).toBe(10);
    expect(events).toEqual(["rate_limit_store_lost"]);
  });

  test("the store is asked once a second while it is away, and counts for all again when it is back", async ({ stand, clock }) => {
    const { road, time, events, send } = stand;
    road.isBroken = true;
    for (let n = 0; n < 5; n += 1) await send(1);
    expect(road.statements).toBe(1);
    time.elapsed = 1_000;
    await send(1);
    expect(road.statements).toBe(2);
    road.isBroken = false;
    time.elapsed = 2_000;
    time.ms = START + 61_000;
    await clock.set(time.ms);
    expect(await send(20)).toBe(10);
    expect(events).toEqual(["rate_limit_store_lost", "rate_limit_store_recovered"]);
    await clock.set(START);
  });

  test("what the store refused stays refused until its time", async ({ stand: { road, time, send } }) => {
    expect(await send(11)).toBe(10);
    road.isBroken = true;
    time.ms = START + 60_999;
    expect(await send(5)).toBe(0);
  });
});
