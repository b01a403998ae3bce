import { beforeEach, describe, expect, test } from "vitest";
import type { Principal } from "#http";
import type { Uuid, WorkspaceId } from "#kernel";
import { PrincipalFinder } from "../../src/workspaces/find-principal.ts";

const KEY = "svc_ws_TheKeyThatWasChosen";
const [OWN, OTHER] = ["01900000-0000-7000-8000-000000000001", "01900000-0000-7000-8000-000000000002"] as WorkspaceId[] as [
  WorkspaceId,
  WorkspaceId,
];
const principal: Principal = {
  keyId: "01900000-0000-7000-8000-000000000003" as Uuid,
  workspaceId: OWN,
  role: "read",
  queues: null,
  workflows: null,
  plan: "pro",
  requestsPerMinute: null,
  executionsPerMonth: null,
};

const OTHER_KEY = "01900000-0000-7000-8000-000000000004" as Uuid;

let nowMs: number;
let uses: Uuid[];
let answers: ((found: Principal | null) => void)[];
let finder: PrincipalFinder;

beforeEach(() => {
  nowMs = 0;
  uses = [];
  answers = [];
  const query = () =>
    new Promise<{ rows: unknown[] }>((resolve) => {
      answers.push((found) => resolve({ rows: found ? [found] : [] }));
    });
  const clock = { nowMs: () => nowMs, elapsedMs: () => nowMs };
  finder = new PrincipalFinder({ query }, clock, { record: (id) => void uses.push(id) }, KEY);
});

/** Looks the key up. If this queries the database, the query returns these rows. */
async function find(answer: Principal | null): Promise<Principal | null> {
  const asked = answers.length;
  const found = finder.find(KEY);
  answers[asked]?.(answer);
  return found;
}

describe("a key that was looked up", () => {
  test("a key that was looked up is trusted for 750 ms, and known or not, looked up no oftener", async () => {
    for (const answer of [principal, null]) {
      expect(await find(answer)).toBe(answer);
      nowMs += 749;
      expect(await find(answer ? null : principal)).toBe(answer);
      nowMs += 1;
    }
    expect(answers).toHaveLength(2);
  });

  test("a key that was looked up is trusted for a second after each moment for which its changes are known", async () => {
    await find(principal);
    for (let second = 0; second < 5; second += 1) {
      finder.proven(nowMs);
      nowMs += 999;
      expect(await find(null)).toBe(principal);
    }
    nowMs += 1;
    expect(await find(null)).toBeNull();
  });

  test("a key that was looked up is looked up again after five minutes in any case", async () => {
    await find(principal);
    nowMs += 299_999;
    finder.proven(nowMs);
    expect(await find(null)).toBe(principal);
    nowMs += 1;
    expect(await find(null)).toBeNull();
  });

  test("a key that was looked up and is unknown, or expires, is looked up again all the same", async () => {
    await find(null);
    nowMs += 750;
    finder.proven(nowMs);
    expect(await find({ ...principal, expiresAt: new Date(2_000).toISOString() })).toMatchObject(principal);
    nowMs = 1_999;
    finder.proven(nowMs);
    expect(await find(null)).toMatchObject(principal);
    nowMs = 2_000;
    expect(await find(null)).toBeNull();
  });

  test("a key that was looked up is forgotten with all others when changes were missed", async () => {
    const pending = finder.find(KEY);
    finder.forgetAll();
    answers[0]?.(principal);
    expect(await pending).toBe(principal);
    finder.proven(nowMs);
    expect(await find(null)).toBeNull();
  });

  test("a key that was looked up is forgotten when it or its workspace changes, not when another does", async () => {
    for (const keyId of [principal.keyId, null]) {
      await find(principal);
      finder.forget(OTHER, keyId);
      finder.forget(OWN, OTHER_KEY);
      expect(await find(null)).toBe(principal);
      finder.forget(OWN, keyId);
      expect(await find(null)).toBeNull();
      nowMs += 750;
    }
  });

  test("a key that was looked up is looked up again when its workspace changed meanwhile: the answer may be of before", async () => {
    const before = finder.find(KEY);
    finder.forget(OWN, OTHER_KEY);
    answers[0]?.(principal);
    expect(await before).toBe(principal);
    expect(await find(null)).toBeNull();
  });

  test("a key that was looked up counts as used by each request that it lets pass", async () => {
    await find(principal);
    await find(principal);
    expect(uses).toEqual([principal.keyId, principal.keyId]);
    nowMs += 750;
    await find(null);
    await find(null);
    expect(uses).toHaveLength(2);
  });
});
