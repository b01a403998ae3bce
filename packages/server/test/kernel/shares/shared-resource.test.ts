import { describe, expect, test } from "vitest";
import { SharedResource, type WorkspaceId } from "#kernel";

const [a, b, c] = ["a", "b", "c"] as WorkspaceId[] as [WorkspaceId, WorkspaceId, WorkspaceId];
const resourceOf = (capacity: number, maxWaitMs = 60_000) => new SharedResource({ name: "connections", capacity, maxWaitMs });

/** The names of those that wait, in the order in which they got their turn. */
function waitingFor(resource: SharedResource) {
  const served: string[] = [];
  const wait = (workspaceId: WorkspaceId, name: string) => {
    void resource.takeInTurn(workspaceId)?.then(() => served.push(name));
  };
  return { served, wait };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("a shared resource", () => {
  test("is given at once while the workspace has room, and keeps some for the next workspace", async () => {
    const resource = resourceOf(4);
    expect([1, 2, 3].map(() => resource.takeInTurn(a))).toEqual([undefined, undefined, undefined]);
    expect(resource.tryTake(a)).toBe(false);
    expect(resource.tryTake(b)).toBe(true);
    expect(resource.free).toBe(0);
  });

  test("goes to workspaces in turns, however many of one wait", async () => {
    const resource = resourceOf(1);
    const { served, wait } = waitingFor(resource);
    resource.take(c, 1);
    for (const name of ["a1", "a2", "a3"]) wait(a, name);
    for (const name of ["b1", "b2"]) wait(b, name);
    for (const workspaceId of [c, a, b, a, b]) {
      resource.release(workspaceId);
      await settle();
    }
    expect(served).toEqual(["a1", "b1", "a2", "b2", "a3"]);
    expect(resource.waiting).toBe(0);
  });

  test("passes over a workspace that has used up its share", async () => {
    const resource = resourceOf(4);
    for (let held = 0; held < 3; held += 1) resource.take(a, 1);
    resource.take(b, 1);
    const { served, wait } = waitingFor(resource);
    wait(a, "a4");
    wait(c, "c1");
    resource.release(b);
    await settle();
    expect(served).toEqual(["c1"]);
    resource.release(a);
    await settle();
    expect(served).toEqual(["c1", "a4"]);
  });

  test("is not given before others of the same workspace that wait already", async () => {
    const resource = resourceOf(1);
    const { served, wait } = waitingFor(resource);
    resource.take(b, 1);
    wait(a, "first");
    wait(a, "second");
    resource.release(b);
    await settle();
    resource.release(a);
    await settle();
    expect(served).toEqual(["first", "second"]);
  });

  test("is refused after a while in words that say whose share is used up, and the turn is gone", async () => {
    const resource = resourceOf(4, 1);
    for (let held = 0; held < 3; held += 1) resource.take(a, 1);
    await expect(resource.takeInTurn(a)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      headers: { "Retry-After": "1" },
      message: "Your workspace's share of this node's capacity for database requests is in use. Try again later.",
    });
    resource.take(b, 1);
    const message = "All of this node's capacity for database requests is in use. Try again later.";
    await expect(resource.takeInTurn(c)).rejects.toMatchObject({ code: "UNAVAILABLE", message });
    resource.release(b);
    await settle();
    expect(resource.free).toBe(1);
  });

  test("of which less is free than is needed, says so, and goes to the next of the workspace that needs less", async () => {
    const resource = resourceOf(100, 1);
    resource.take(b, 50);
    const large = resource.takeInTurn(a, 60);
    const small = resource.takeInTurn(a, 1);
    await expect(large).rejects.toMatchObject({
      message: "Not enough of this node's capacity for database requests is free. Try again later.",
    });
    await small;
    expect(resource.total).toBe(51);
  });

  test("releases what a failed work took", async () => {
    const resource = resourceOf(2);
    await expect(resource.use(a, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(resource.total).toBe(0);
  });

  test("of which nobody holds any, may be taken in a unit larger than a share", () => {
    const resource = resourceOf(100);
    expect(resource.tryTake(a, 90)).toBe(true);
    expect(resource.tryTake(b, 90)).toBe(false);
  });
});
