import { expect, test } from "vitest";
import { type DueWork, serveInTurnsAcrossWorkspaces, unavailable, type WorkspaceId } from "#kernel";

/** Work of workspaces named by letters: `due` says how many shares each has. Each batch takes 100 ms. */
function dueWork(due: Record<string, number>, options: Partial<Omit<DueWork, "serve">> & { bad?: string; error?: Error } = {}) {
  const left = { ...due };
  const batches: string[] = [];
  const failures: string[] = [];
  const pauses: number[] = [];
  let nowMs = 0;
  const names = (batch: readonly WorkspaceId[]) => batch.join("");
  const serve: DueWork["serve"] = async (batch) => {
    nowMs += 100;
    batches.push(names(batch));
    if (options.bad !== undefined && names(batch).includes(options.bad)) throw options.error ?? new Error("bad row");
    const served = batch.filter((id) => (left[id] ?? 0) > 0);
    for (const id of served) left[id] = (left[id] ?? 0) - 1;
    return { served: served.length > 0, more: served.filter((id) => (left[id] ?? 0) > 0), restMs: served.length };
  };
  const work: DueWork = {
    clock: { elapsedMs: () => nowMs },
    maxBatch: 2,
    roundMs: 10_000,
    findNextInMs: async () => 0,
    findWorkspaces: async () => Object.keys(due) as WorkspaceId[],
    serve,
    onFailure: (batch) => failures.push(names(batch)),
    pause: async (ms) => pauses.push(ms),
    ...options,
  };
  return { work, left, batches, failures, pauses };
}

test("workspaces take turns in batches, and one with more to do goes to the end of the line", async () => {
  const { work, batches } = dueWork({ a: 3, b: 1, c: 2, d: 1, e: 1 });
  expect(await serveInTurnsAcrossWorkspaces(work)).toBe(0);
  expect(batches).toEqual(["ab", "cd", "ea", "ca"]);
});

test("a round ends when its time is up, and the next begins at once with what is due then", async () => {
  const { work, batches } = dueWork({ a: 1_000, b: 1, c: 1 }, { maxBatch: 1, roundMs: 450 });
  expect(await serveInTurnsAcrossWorkspaces(work)).toBe(0);
  expect(batches).toEqual(["a", "b", "c", "a", "a"]);
});

test("workspaces of a batch that fails are served one by one, and the one that fails costs the others nothing", async () => {
  const { work, left, batches, failures } = dueWork({ a: 1, b: 1, c: 2, d: 1 }, { bad: "b", maxBatch: 3 });
  expect(await serveInTurnsAcrossWorkspaces(work)).toBe(0);
  expect(batches).toEqual(["abc", "a", "b", "c", "dc"]);
  expect(failures).toEqual(["abc", "b"]);
  expect(left).toEqual({ a: 0, b: 1, c: 0, d: 0 });
});

test("what fails is tried again after a second when nothing else was done", async () => {
  const { work, failures } = dueWork({ a: 1 }, { bad: "a" });
  expect(await serveInTurnsAcrossWorkspaces(work)).toBe(1_000);
  expect(failures).toEqual(["a"]);
});

test("when other nodes have locked all that is due, it looks again after 50 ms", async () => {
  const { work, batches } = dueWork({ a: 0, b: 0, c: 0 });
  expect(await serveInTurnsAcrossWorkspaces(work)).toBe(50);
  expect(batches).toEqual(["ab", "c"]);
});

test("a database that is away ends the round: nothing is tried one by one", async () => {
  const { work, batches, failures } = dueWork({ a: 1, b: 1, c: 1 }, { bad: "b", error: unavailable("The database is away.") });
  await expect(serveInTurnsAcrossWorkspaces(work)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect([batches, failures]).toEqual([["ab"], []]);
});

const TIMEOUT = Object.assign(unavailable("The database is unavailable."), { cause: { code: "57014" } });

test("workspaces of a batch that takes too long are served one by one, and the one with a locked row costs the others no turn", async () => {
  const { work, left, batches, failures } = dueWork({ a: 1, b: 1, c: 1, d: 1 }, { bad: "a", error: TIMEOUT, roundMs: 150 });
  expect(await serveInTurnsAcrossWorkspaces(work)).toBe(0);
  expect([batches, failures]).toEqual([
    ["ab", "a", "b", "cd"],
    ["ab", "a"],
  ]);
  expect(left).toEqual({ a: 1, b: 0, c: 0, d: 0 });
});

test("a database that is too slow for several workspaces in a row ends the round", async () => {
  const { work, batches } = dueWork({ a: 1, b: 1, c: 1, d: 1, e: 1 }, { bad: "", error: TIMEOUT, maxBatch: 5 });
  await expect(serveInTurnsAcrossWorkspaces(work)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(batches).toEqual(["abcde", "a", "b", "c"]);
});

test("a workspace that takes too long alone is tried again after a second", async () => {
  const { work, failures } = dueWork({ a: 1 }, { bad: "a", error: TIMEOUT });
  expect(await serveInTurnsAcrossWorkspaces(work)).toBe(1_000);
  expect(failures).toEqual(["a"]);
});

test.for([
  [null, undefined],
  [0.2, 1],
  [2_500, 2_500],
] as const)("while nothing is due for %s ms, it looks for no workspaces and returns %s", async ([inMs, waitMs]) => {
  const { work, batches } = dueWork({ a: 1 }, { findNextInMs: async () => inMs });
  expect(await serveInTurnsAcrossWorkspaces(work)).toBe(waitMs);
  expect(batches).toEqual([]);
});

test("after a batch it rests as long as the batch says, also when its workspaces were served one by one", async () => {
  const { work, pauses } = dueWork({ a: 1, b: 1, c: 1, d: 1, e: 0 }, { bad: "d" });
  await serveInTurnsAcrossWorkspaces(work);
  expect(pauses).toEqual([2, 1]);
  const alone = dueWork({ a: 1, b: 1, c: 1 }, { bad: "b", maxBatch: 3 });
  await serveInTurnsAcrossWorkspaces(alone.work);
  expect(alone.pauses).toEqual([1, 1]);
});
