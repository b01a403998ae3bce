import { expect, test } from "vitest";
import { type DueWork, RoundRobinLoop, unavailable, type WorkspaceId } from "#kernel";
import { lockWaits } from "../harness/lock-waits.ts";

const TIMEOUT = Object.assign(unavailable("The database is unavailable."), { cause: { code: "57014" } });

interface Options extends Partial<Omit<DueWork, "serve">> {
  /** A batch with this one fails. */
  readonly bad?: string;
  /** How it does. */
  readonly error?: Error;
}

/** Work of workspaces named by letters: `due` says how many shares each has. Each batch takes 100 ms. */
function dueWork(due: Record<string, number>, options: Options = {}) {
  /** Batches with one of these take too long. */
  const locks = { of: "", until: Promise.resolve(), error: TIMEOUT as Error };
  const left = { ...due };
  const batches: string[] = [];
  const failures: string[] = [];
  const pauses: number[] = [];
  let nowMs = 0;
  const names = (batch: readonly WorkspaceId[]) => batch.join("");
  const serve: DueWork["serve"] = async (batch) => {
    nowMs += 100;
    batches.push(names(batch));
    if (batch.some((id) => locks.of.includes(id))) {
      await locks.until;
      throw locks.error;
    }
    if (options.bad !== undefined && names(batch).includes(options.bad)) throw options.error ?? new Error("bad row");
    const served = batch.filter((id) => (left[id] ?? 0) > 0);
    for (const id of served) left[id] = (left[id] ?? 0) - 1;
    return { served: served.length > 0, more: served.filter((id) => (left[id] ?? 0) > 0), restMs: served.length };
  };
  const work: DueWork = {
    name: "test",
    clock: { elapsedMs: () => nowMs },
    lockWaits: lockWaits(),
    maxBatch: 2,
    roundMs: 10_000,
    findNextInMs: async () => 0,
    findWorkspaces: async () => Object.keys(due) as WorkspaceId[],
    serve,
    onFailure: (batch) => failures.push(names(batch)),
    pause: async (ms) => pauses.push(ms),
    ...options,
  };
  const advance = (ms: number) => {
    nowMs += ms;
  };
  return { work, left, batches, failures, pauses, locks, advance };
}

test("workspaces take turns in batches, and one with more to do goes to the end of the line", async () => {
  const { work, batches } = dueWork({ a: 3, b: 1, c: 2, d: 1, e: 1 });
  expect(await new RoundRobinLoop(work).round()).toBe(0);
  expect(batches).toEqual(["ab", "cd", "ea", "ca"]);
});

test("a round ends when its time is up, and the next begins at once with what is due then", async () => {
  const { work, batches } = dueWork({ a: 1_000, b: 1, c: 1 }, { maxBatch: 1, roundMs: 450 });
  expect(await new RoundRobinLoop(work).round()).toBe(0);
  expect(batches).toEqual(["a", "b", "c", "a", "a"]);
});

test("workspaces of a batch that fails are served one by one, and the one that fails costs the others nothing", async () => {
  const { work, left, batches, failures } = dueWork({ a: 1, b: 1, c: 2, d: 1 }, { bad: "b", maxBatch: 3 });
  expect(await new RoundRobinLoop(work).round()).toBe(0);
  expect(batches).toEqual(["abc", "a", "b", "c", "dc"]);
  expect(failures).toEqual(["abc", "b"]);
  expect(left).toEqual({ a: 0, b: 1, c: 0, d: 0 });
});

test("what fails is tried again after a second when nothing else was done", async () => {
  const { work, failures } = dueWork({ a: 1 }, { bad: "a" });
  expect(await new RoundRobinLoop(work).round()).toBe(1_000);
  expect(failures).toEqual(["a"]);
});

test("when other nodes have locked all that is due, it looks again after 50 ms", async () => {
  const { work, batches } = dueWork({ a: 0, b: 0, c: 0 });
  expect(await new RoundRobinLoop(work).round()).toBe(50);
  expect(batches).toEqual(["ab", "c"]);
});

test("a database that is away ends the round: nothing is tried one by one", async () => {
  const { work, batches, failures } = dueWork({ a: 1, b: 1, c: 1 }, { bad: "b", error: unavailable("The database is away.") });
  await expect(new RoundRobinLoop(work).round()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect([batches, failures]).toEqual([["ab"], []]);
});

test("workspaces of a batch that takes too long are served one by one, and the one with a locked row costs the others no turn", async () => {
  const { work, left, batches, failures } = dueWork({ a: 1, b: 1, c: 1, d: 1 }, { bad: "a", error: TIMEOUT, roundMs: 150 });
  expect(await new RoundRobinLoop(work).round()).toBe(0);
  expect([batches, failures]).toEqual([
    ["ab", "a", "b", "cd"],
    ["ab", "a"],
  ]);
  expect(left).toEqual({ a: 1, b: 0, c: 0, d: 0 });
});

test("a database that is too slow for several workspaces in a row ends the round", async () => {
  const { work, batches } = dueWork({ a: 1, b: 1, c: 1, d: 1, e: 1 }, { bad: "", error: TIMEOUT, maxBatch: 5 });
  await expect(new RoundRobinLoop(work).round()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(batches).toEqual(["abcde", "a", "b", "c"]);
});

test("workspaces with locked rows that are the longest waiting do not end each round: from then on they are tried beside rounds", async () => {
  const { work, left, batches, locks } = dueWork({ a: 2, b: 2, c: 2, d: 2, e: 2 }, { maxBatch: 5, roundMs: 250 });
  const turns = new RoundRobinLoop(work);
  locks.of = "abc";
  await expect(turns.round()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  batches.length = 0;
  const gate = Promise.withResolvers<void>();
  locks.until = gate.promise;
  expect(await turns.round()).toBe(0);
  expect(left).toEqual({ a: 2, b: 2, c: 2, d: 0, e: 0 });
  expect(batches).toEqual(["a", "de", "de"]);
  gate.resolve();
  await turns.stop();
});

test("a workspace that took too long has turns again after a try that did not", async () => {
  const { work, left, batches, locks } = dueWork({ a: 3, b: 1 }, { maxBatch: 1 });
  const turns = new RoundRobinLoop(work);
  locks.of = "a";
  expect(await turns.round()).toBe(0);
  locks.of = "";
  expect(await turns.round()).toBe(250);
  expect(left).toEqual({ a: 2, b: 0 });
  expect(await turns.round()).toBe(0);
  expect([left, batches]).toEqual([{ a: 0, b: 0 }, ["a", "b", "a", "b", "a", "b", "a"]]);
});

test("a try beside rounds that finds the database away is the last: the next round finds that out", async () => {
  const { work, batches, locks } = dueWork({ a: 1 }, { maxBatch: 1 });
  const turns = new RoundRobinLoop(work);
  locks.of = "a";
  await turns.round();
  locks.error = unavailable("The database is away.");
  await turns.round();
  await new Promise(setImmediate);
  expect(batches).toEqual(["a", "a"]);
  await expect(turns.round()).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

test("tries beside rounds have the turns of what waits for locks", async () => {
  const shared = lockWaits();
  const { work, batches, locks } = dueWork({ a: 1, b: 1 }, { maxBatch: 1, lockWaits: shared });
  const turns = new RoundRobinLoop(work);
  locks.of = "a";
  await turns.round();
  const other = Promise.withResolvers<void>();
  const waiting = shared.run("settle", () => other.promise);
  await turns.round();
  expect(batches).toEqual(["a", "b", "b"]);
  locks.of = "";
  other.resolve();
  await waiting;
  await turns.stop();
  expect(batches).toEqual(["a", "b", "b", "a"]);
});

test("a stop waits for a try beside rounds, and none begins afterwards", async () => {
  const { work, batches, locks, advance } = dueWork({ a: 1, b: 1 }, { maxBatch: 1 });
  const turns = new RoundRobinLoop(work);
  locks.of = "ab";
  await turns.round();
  const gate = Promise.withResolvers<void>();
  locks.until = gate.promise;
  await turns.round();
  const stopped: string[] = [];
  const stopping = turns.stop().then(() => stopped.push("stopped"));
  await new Promise(setImmediate);
  expect(stopped).toEqual([]);
  locks.of = "";
  gate.resolve();
  await stopping;
  advance(1_000);
  await turns.round();
  expect(batches).toEqual(["a", "b", "a"]);
});

test("a round with work left begins the next one at once, though a batch of it failed", async () => {
  const { work } = dueWork({ a: 9, b: 1, c: 1 }, { bad: "c", maxBatch: 1, roundMs: 150 });
  expect(await new RoundRobinLoop(work).round()).toBe(0);
});

test("a workspace that takes too long alone is tried again after a second", async () => {
  const { work, failures } = dueWork({ a: 1 }, { bad: "a", error: TIMEOUT });
  expect(await new RoundRobinLoop(work).round()).toBe(1_000);
  expect(failures).toEqual(["a"]);
});

test.for([
  [null, undefined],
  [0.2, 1],
  [2_500, 2_500],
] as const)("while nothing is due for %s ms, it looks for no workspaces and returns %s", async ([inMs, waitMs]) => {
  const { work, batches } = dueWork({ a: 1 }, { findNextInMs: async () => inMs });
  expect(await new RoundRobinLoop(work).round()).toBe(waitMs);
  expect(batches).toEqual([]);
});

test("after a batch it rests as long as the batch says, also when its workspaces were served one by one", async () => {
  const { work, pauses } = dueWork({ a: 1, b: 1, c: 1, d: 1, e: 0 }, { bad: "d" });
  await new RoundRobinLoop(work).round();
  expect(pauses).toEqual([2, 1]);
  const alone = dueWork({ a: 1, b: 1, c: 1 }, { bad: "b", maxBatch: 3 });
  await new RoundRobinLoop(alone.work).round();
  expect(alone.pauses).toEqual([1, 1]);
});
