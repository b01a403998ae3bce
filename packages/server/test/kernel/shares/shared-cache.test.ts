import { expect, test } from "vitest";
import { SharedCache, type WorkspaceId } from "#kernel";

const OURS = "ours" as WorkspaceId;
const OTHER = "other" as WorkspaceId;
const cached = "cached";

/** A cache of eight units. */
const cacheOf = (...names: readonly [WorkspaceId, string][]) => {
  const cache = new SharedCache<string, string>(8);
  for (const [workspaceId, name] of names) cache.set(workspaceId, name, cached);
  return cache;
};
const kept = (cache: SharedCache<string, string>, names: readonly string[]) => names.filter((name) => cache.get(name) !== undefined);
const many = Array.from({ length: 100 }, (_, number) => `x${number}`);

test("a workspace with many entries evicts its own oldest ones, and none of another", () => {
  const cache = cacheOf([OURS, "a"], ...many.map((name): [WorkspaceId, string] => [OTHER, name]));
  expect(cache.get("a")).toBe(cached);
  expect(kept(cache, many)).toEqual(many.slice(-6));
});

test("there is room for an entry of the next workspace", () => {
  const cache = cacheOf(...many.map((name): [WorkspaceId, string] => [OTHER, name]), [OURS, "a"]);
  expect(cache.get("a")).toBe(cached);
  expect(kept(cache, many)).toHaveLength(6);
});

test("of as many workspaces as there are entries, the next one takes the place of the oldest entry", () => {
  const cache = cacheOf(...many.map((name): [WorkspaceId, string] => [name as WorkspaceId, name]));
  expect(kept(cache, many)).toEqual(many.slice(-8));
});

test("an entry that is stored again counts for the workspace that did so", () => {
  const cache = cacheOf([OTHER, "a"], [OURS, "a"], ...many.map((name): [WorkspaceId, string] => [OTHER, name]));
  expect(cache.get("a")).toBe(cached);
});

test("an entry of several units takes the place of as many, unless it is larger than the workspace's share", () => {
  const cache = cacheOf([OURS, "a"], ...many.map((name): [WorkspaceId, string] => [OTHER, name]));
  cache.set(OTHER, "large", cached, 4);
  expect(kept(cache, ["a", "large", ...many])).toEqual(["a", "large", "x98", "x99"]);
  cache.set(OTHER, "larger", cached, 8);
  expect(kept(cache, ["a", "larger"])).toEqual(["a"]);
});

test("entries of one kind are deleted, and leave their room to others", () => {
  const cache = new SharedCache<string, string>(8);
  for (const [at, name] of many.slice(0, 6).entries()) cache.set(OURS, name, at % 2 === 0 ? "stale" : cached);
  cache.deleteIf((value) => value === "stale");
  expect(kept(cache, many)).toEqual(["x1", "x3", "x5"]);
  for (const name of ["a", "b", "c"]) cache.set(OURS, name, cached);
  expect(kept(cache, ["a", "b", "c", ...many])).toEqual(["a", "b", "c", "x1", "x3", "x5"]);
});

test("the entries of a workspace are found", () => {
  const cache = cacheOf([OURS, "a"], [OTHER, "b"], [OURS, "c"]);
  cache.set(OURS, "d", "another");
  cache.delete("a");
  expect([...cache.valuesOf(OURS)]).toEqual([cached, "another"]);
});
