import { expect, test } from "vitest";
import { unavailable, type WorkspaceId } from "#kernel";
import { BeginTurns } from "../../src/pushes/begin-turns.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { until } from "../harness/service.ts";

const TIMEOUT = Object.assign(unavailable(), { cause: { code: "57014" } });

/** Workspaces are named by letters. Groups of those in `locked` take too long when they are let go. */
function turnsOf(locked: Set<string>) {
  const begun: string[] = [];
  const blocked = new Map<string, () => void>();
  const shared = lockWaits();
  const turns = new BeginTurns(shared);
  const begin = (workspace: string) =>
    turns.run({ workspaceId: (workspace[0] ?? "") as WorkspaceId, name: workspace }, async () => {
      begun.push(workspace);
      if (!locked.has(workspace)) return workspace;
      await new Promise<void>((letGo) => blocked.set(workspace, letGo));
      throw TIMEOUT;
    });
  const timeOut = async (workspace: string) => {
    await until(() => blocked.has(workspace), `${workspace} to begin`);
    blocked.get(workspace)?.();
    blocked.delete(workspace);
  };
  return { begin, begun, blocked, shared, timeOut };
}

test("workspaces whose executions took too long begin beside the others, in the turns of what waits for locks", async () => {
  const locked = new Set(["a", "b"]);
  const { begin, begun, blocked, shared, timeOut } = turnsOf(locked);
  const first = [begin("a"), begin("b")].map((one) => expect(one).rejects.toBe(TIMEOUT));
  for (const workspace of locked) await timeOut(workspace);
  await Promise.all(first);
  const settle = Promise.withResolvers<void>();
  const settling = shared.run("settle", () => settle.promise);
  const [again, waiting] = [begin("a"), begin("b")].map((one) => expect(one).rejects.toBe(TIMEOUT));
  expect(await Promise.all([begin("c"), begin("d")])).toEqual(["c", "d"]);
  expect(begun).toEqual(["a", "b", "c", "d"]);
  settle.resolve();
  await settling;
  await until(() => blocked.has("a"), "a to begin again");
  expect(begun).toEqual(["a", "b", "c", "d", "a"]);
  await timeOut("a");
  await again;
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

test("workflows whose executions took too long are forgotten after many others, the one that did so longest ago first", async () => {
  const turns = new BeginTurns(lockWaits());
  const timeOut = (n: number) =>
    expect(turns.run({ workspaceId: "a" as WorkspaceId, name: `${n}` }, () => Promise.reject(TIMEOUT))).rejects.toBe(TIMEOUT);
  for (let n = 0; n < 1_000; n += 1) await timeOut(n);
  expect(turns.isSlow("0")).toBe(true);
  await timeOut(0);
  for (let n = 1_000; n < 1_500; n += 1) await timeOut(n);
  const slow = Array.from({ length: 1_500 }, (_, n) => n).filter((n) => turns.isSlow(`${n}`));
  expect(slow).toEqual([0, ...Array.from({ length: 999 }, (_, n) => n + 501)]);
});
