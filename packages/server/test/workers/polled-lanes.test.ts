import { describe, expect, test } from "vitest";
import type { WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { PolledLanes } from "../../src/workers/polled-lanes.ts";

const WORKSPACE = "00000000-0000-7000-8000-000000000001" as WorkspaceId;
const QUEUE = { kind: "queue", name: "emails" } as const;
/** A call of the SDK waits for 28 s. The next one must look the queue up again. */
const [OLD_MS, NOW_MS] = [0, 28_000];

/** A queue that was looked up when the last call of a worker began. */
function setUp() {
  const lanes = new PolledLanes();
  const found = (ms: number) => lanes.found({ workspaceId: WORKSPACE, laneId: 1 as LaneId }, QUEUE, ms);
  found(OLD_MS);
  const fresh = () => lanes.fresh(WORKSPACE, QUEUE, NOW_MS);
  expect(fresh()).toBeUndefined();
  return { lanes, found, fresh };
}

describe("a queue that is looked up again", () => {
  test("is not looked up by other calls meanwhile, nor after it", async () => {
    const { lanes, found, fresh } = setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    const looking = lanes.lookUpAgain(WORKSPACE, [QUEUE], NOW_MS, async () => {
      await promise;
      found(NOW_MS);
    });
    expect(fresh()).toMatchObject({ laneId: 1 });
    resolve();
    await looking;
    expect(fresh()).toMatchObject({ laneId: 1 });
  });

  test("is looked up by the next call if it is not there, or could not be looked up", async () => {
    const { lanes, fresh } = setUp();
    const gone = new Error("The queue does not exist.");
    await expect(lanes.lookUpAgain(WORKSPACE, [QUEUE], NOW_MS, () => Promise.reject(gone))).rejects.toBe(gone);
    expect(fresh()).toBeUndefined();
  });

  test("is looked up by each call that asks for it the first time", async () => {
    const lanes = new PolledLanes();
    const { promise, resolve } = Promise.withResolvers<void>();
    const looking = lanes.lookUpAgain(WORKSPACE, [QUEUE], NOW_MS, () => promise);
    expect(lanes.fresh(WORKSPACE, QUEUE, NOW_MS)).toBeUndefined();
    resolve();
    await looking;
  });
});
