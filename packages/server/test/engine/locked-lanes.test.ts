import { expect, onTestFinished, test } from "vitest";
import { unavailable, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { LockedLanes } from "../../src/engine/locked-lanes.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { until } from "../harness/service.ts";

const TIMEOUT = Object.assign(unavailable(), { cause: { code: "57014" } });

const lane = (laneId: number): LaneKey => ({ workspaceId: "w" as WorkspaceId, laneId: laneId as LaneId });

/** Lanes are moved when they are let go. */
function lockedLanes() {
  const begun: number[] = [];
  const failed: number[] = [];
  const moving = new Map<number, PromiseWithResolvers<void>>();
  const shared = lockWaits();
  const lanes = new LockedLanes<LaneKey>({
    name: "due",
    lockWaits: shared,
    move: ({ laneId }) => {
      begun.push(laneId);
      const move = Promise.withResolvers<void>();
      moving.set(laneId, move);
      return move.promise;
    },
    emit: (_, fields) => void failed.push((fields as LaneKey).laneId),
  });
  const end = async (laneId: number, error?: Error) => {
    await until(() => moving.has(laneId), `lane ${laneId} to be moved`);
    const move = moving.get(laneId);
    moving.delete(laneId);
    if (error) move?.reject(error);
    else move?.resolve();
    await new Promise(setImmediate);
  };
  return { lanes, begun, failed, moving, shared, end };
}

test("one lane at a time is moved, in turns", async () => {
  const { lanes, begun, end } = lockedLanes();
  lanes.add([lane(2), lane(1)]);
  lanes.add([lane(3)]);
  expect(begun).toEqual([1]);
  await end(1);
  lanes.add([lane(1), lane(2), lane(3)]);
  await end(2);
  lanes.add([lane(1), lane(2)]);
  await end(1);
  expect(begun).toEqual([1, 2, 1]);
});

test("a lane that took too long is moved beside the others until it does not, in the turns of what waits for locks", async () => {
  const { lanes, begun, failed, moving, shared, end } = lockedLanes();
  const settle = Promise.withResolvers<void>();
  const settling = shared.run("settle", () => settle.promise);
  lanes.add([lane(1)]);
  await end(1, TIMEOUT);
  expect(failed).toEqual([1]);
  lanes.add([lane(1), lane(2)]);
  await end(2);
  lanes.add([lane(1)]);
  expect(begun).toEqual([1, 2]);
  settle.resolve();
  await settling;
  await until(() => moving.has(1), "the slow lane to be moved");
  lanes.add([lane(1), lane(2)]);
  expect(begun).toEqual([1, 2, 1, 2]);
  await end(1, TIMEOUT);
  await end(1);
  await end(2);
  lanes.add([lane(1)]);
  expect(begun).toEqual([1, 2, 1, 2, 1, 1]);
  await end(1);
});

test("a lane that failed for another reason is left to batches", async () => {
  const { lanes, begun, failed, end } = lockedLanes();
  lanes.add([lane(1)]);
  await end(1, new Error("bad row"));
  expect([begun, failed]).toEqual([[1], [1]]);
  lanes.add([lane(1)]);
  await end(1);
  expect(begun).toEqual([1, 1]);
});

test("a stop waits for what is being moved, and for no turn", async () => {
  const { lanes, begun, shared, end } = lockedLanes();
  const settle = Promise.withResolvers<void>();
  const settling = shared.run("settle", () => settle.promise);
  onTestFinished(async () => {
    settle.resolve();
    await settling;
  });
  lanes.add([lane(1)]);
  await end(1, TIMEOUT);
  lanes.add([lane(2)]);
  const told: string[] = [];
  const stopped = lanes.stop().then(() => told.push("stopped"));
  await new Promise(setImmediate);
  expect(told).toEqual([]);
  await end(2);
  await stopped;
  settle.resolve();
  await settling;
  lanes.add([lane(3)]);
  await new Promise(setImmediate);
  expect(begun).toEqual([1, 2]);
});
