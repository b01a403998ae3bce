import { expect, test } from "vitest";
import type { WorkspaceId } from "#kernel";
import { NameCache } from "../../src/outbound/names/name-cache.ts";

const OURS = "ours" as WorkspaceId;
const OTHER = "other" as WorkspaceId;
const cached = { resolution: { kind: "found", addresses: [] }, untilMs: 1, staleUntilMs: 1 } as const;

/** A cache of eight names. */
const cacheOf = (...names: readonly [WorkspaceId, string][]) => {
  const cache = new NameCache(8);
  for (const [workspaceId, name] of names) cache.set(workspaceId, name, cached);
  return cache;
};
const kept = (cache: NameCache, names: readonly string[]) => names.filter((name) => cache.get(name) !== undefined);
const many = Array.from({ length: 100 }, (_, number) => `x${number}`);

test("a workspace with many names evicts its own oldest ones, and none of another", () => {
  const cache = cacheOf([OURS, "a"], ...many.map((name): [WorkspaceId, string] => [OTHER, name]));
  expect(cache.get("a")).toBe(cached);
  expect(kept(cache, many)).toEqual(many.slice(-6));
});

test("there is room for a name of the next workspace", () => {
  const cache = cacheOf(...many.map((name): [WorkspaceId, string] => [OTHER, name]), [OURS, "a"]);
  expect(cache.get("a")).toBe(cached);
  expect(kept(cache, many)).toHaveLength(6);
});

test("of as many workspaces as there are names, the next one takes the place of the oldest name", () => {
  const cache = cacheOf(...many.map((name): [WorkspaceId, string] => [name as WorkspaceId, name]));
  expect(kept(cache, many)).toEqual(many.slice(-8));
});

test("a name that is looked up again counts for the workspace that did so", () => {
  const cache = cacheOf([OTHER, "a"], [OURS, "a"], ...many.map((name): [WorkspaceId, string] => [OTHER, name]));
  expect(cache.get("a")).toBe(cached);
});
