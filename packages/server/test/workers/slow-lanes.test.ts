import { describe, expect, test } from "vitest";
import type { WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { Poll } from "../../src/workers/poll.ts";
import { PolledLanes } from "../../src/workers/polled-lanes.ts";
import { SlowLanes } from "../../src/workers/slow-lanes.ts";

const WORKSPACE = "00000000-0000-7000-8000-000000000001" as WorkspaceId;
const LANE = { workspaceId: WORKSPACE, laneId: 1 as LaneId };

/** A slow lane of a workflow. */
function setUp() {
  const lanes = new PolledLanes();
  const slow = new SlowLanes(lanes);
  const found = (version: string, nowMs: number) => lanes.found(LANE, { kind: "workflow", name: "onboard", version }, nowMs);
  const lane = found("1", 0);
  slow.add(lane);
  const claimFromNext = (claim = () => Promise.resolve()) => slow.claimFromNext({ hasRoom: () => true, claim, onFailed: () => {} });
  return { lanes, slow, lane, found, claimFromNext };
}

describe("a slow lane is no longer kept", () => {
  test("when it was forgotten during a claim that failed", async () => {
    const { lanes, slow, lane, claimFromNext } = setUp();
    lane.polls.add({ claiming: false } as Poll);
    const { promise, reject } = Promise.withResolvers<void>();
    const claiming = claimFromNext(() => promise);
    lanes.delete(lane.laneId);
    lane.polls.clear();
    reject(new Error("It took too long."));
    expect(await claiming).toBe(true);
    expect(await claimFromNext()).toBe(false);
    expect(slow.has(lane)).toBe(false);
  });

  test("when no worker has polled it for long", async () => {
    const { lanes, slow, lane, found, claimFromNext } = setUp();
    found("2", 60_000);
    expect(lanes.has(lane)).toBe(false);
    expect(await claimFromNext()).toBe(false);
    expect(slow.has(lane)).toBe(false);
  });
});
