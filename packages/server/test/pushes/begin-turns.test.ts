import { expect, test } from "vitest";
import { unavailable, type WorkspaceId } from "#kernel";
import { BeginTurns } from "../../src/pushes/begin-turns.ts";
import { until } from "../harness/service.ts";

const TIMEOUT = Object.assign(unavailable(), { cause: { code: "57014" } });

/** Workspaces are named by letters. Groups of those in `locked` take 10 s, and fail, when they are let go. */
function turnsOf(locked: Set<string>) {
  let nowMs = 0;
  const begun: string[] = [];
  const rests: { readonly ms: number; readonly end: () => void }[] = [];
  const blocked = new Map<string, () => void>();
  const rest = (ms: number) => new Promise<void>((end) => rests.push({ ms, end }));
  const turns = new BeginTurns({ elapsedMs: () => nowMs }, rest);
  const begin = (workspace: string) =>
    turns.run({ workspaceId: (workspace[0] ?? "") as WorkspaceId, name: workspace }, async () => {
      begun.push(workspace);
      if (!locked.has(workspace)) return workspace;
      await new Promise<void>((letGo) => blocked.set(workspace, letGo));
      nowMs += 10_000;
      throw TIMEOUT;
    });
  const timeOut = async (workspace: string) => {
    await until(() => blocked.has(workspace), `${workspace} to begin`);
    blocked.get(workspace)?.();
    blocked.delete(workspace);
  };
  return { begin, begun, rests, blocked, timeOut };
}

test("workspaces whose executions took too long begin beside the others, one at a time, with a rest between", async () => {
  const locked = new Set(["a", "b"]);
  const { begin, begun, rests, blocked, timeOut } = turnsOf(locked);
  const first = [begin("a"), begin("b")].map((one) => expect(one).rejects.toBe(TIMEOUT));
  for (const workspace of locked) await timeOut(workspace);
  await Promise.all(first);
  const [again, waiting] = [begin("a"), begin("b")].map((one) => expect(one).rejects.toBe(TIMEOUT));
  await until(() => blocked.has("a"), "a to begin again");
  expect(await Promise.all([begin("c"), begin("d")])).toEqual(["c", "d"]);
  expect(begun).toEqual(["a", "b", "a", "c", "d"]);
  await timeOut("a");
  await again;
  expect(rests.map(({ ms }) => ms)).toEqual([30_000]);
  expect(blocked.has("b")).toBe(false);
  rests[0]?.end();
  await timeOut("b");
  await waiting;
});

test("a workflow that does not take too long lets no other workflow of its workspace have turns again", async () => {
  const locked = new Set(["a1"]);
  const { begin, begun, blocked, timeOut } = turnsOf(locked);
  const first = expect(begin("a1")).rejects.toBe(TIMEOUT);
  await timeOut("a1");
  await first;
  expect(await begin("a2")).toBe("a2");
  for (const workspace of ["a1", "b", "c"]) {
    locked.add(workspace);
    void begin(workspace).catch(() => {});
  }
  await until(() => blocked.size === 3, "one to begin beside both turns");
  expect(begun).toEqual(["a1", "a2", "a1", "b", "c"]);
});

test("a workspace that no longer takes too long has its turns again", async () => {
  const locked = new Set(["a"]);
  const { begin, blocked, timeOut } = turnsOf(locked);
  const first = expect(begin("a")).rejects.toBe(TIMEOUT);
  await timeOut("a");
  await first;
  locked.clear();
  expect(await begin("a")).toBe("a");
  for (const workspace of ["b", "c"]) {
    locked.add(workspace);
    void begin(workspace).catch(() => {});
  }
  await until(() => blocked.size === 2, "both turns to be taken");
  let hasBegun = false;
  const last = begin("a").then(() => (hasBegun = true));
  await Promise.resolve();
  expect(hasBegun).toBe(false);
  await timeOut("b");
  await last;
});
