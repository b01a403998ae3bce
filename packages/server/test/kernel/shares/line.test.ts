import { expect, test } from "vitest";
import { RoundRobinQueue, type WorkspaceId } from "#kernel";

const member = (workspace: string, name: string) => ({ workspaceId: workspace as WorkspaceId, name });
const [a1, a2, a3, b1, c1, c2] = [
  member("a", "a1"),
  member("a", "a2"),
  member("a", "a3"),
  member("b", "b1"),
  member("c", "c1"),
  member("c", "c2"),
];

function lineOf(...members: { workspaceId: WorkspaceId; name: string }[]) {
  const line = new RoundRobinQueue<{ workspaceId: WorkspaceId; name: string }>();
  for (const one of members) line.add(one);
  return line;
}

const names = (line: ReturnType<typeof lineOf>, skips?: (workspaceId: WorkspaceId) => boolean) =>
  [...line.inTurns(skips)].map(({ name }) => name);

test("a line gives each workspace one turn before any has its second", () => {
  expect(names(lineOf(a1, a2, a3, b1, c1, c2))).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"]);
});

test("a line sends who had a turn to the end, in its workspace and with it", () => {
  const line = lineOf(a1, a2, b1, c1);
  line.moveBack(a1);
  expect(names(line)).toEqual(["b1", "c1", "a2", "a1"]);
  line.moveBack(b1);
  expect(names(line)).toEqual(["c1", "a2", "b1", "a1"]);
});

test("a line holds each member once, and forgets who leaves", () => {
  const line = lineOf(a1, a1, a2, b1);
  expect([line.size, line.has(a1), line.has(c1)]).toEqual([3, true, false]);
  line.delete(a1);
  line.delete(a1);
  line.delete(b1);
  line.moveBack(b1);
  expect([line.size, line.has(a1), names(line)]).toEqual([1, false, ["a2"]]);
});

test("a line leaves out workspaces with all their members", () => {
  const asked: string[] = [];
  const skips = (workspaceId: WorkspaceId) => {
    asked.push(workspaceId);
    return workspaceId !== "c";
  };
  expect(names(lineOf(a1, a2, a3, b1, c1, c2), skips)).toEqual(["c1", "c2"]);
  expect(new Set(asked)).toEqual(new Set(["a", "b", "c"]));
});
