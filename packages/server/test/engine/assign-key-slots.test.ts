import { expect } from "vitest";
import { reassignKeySlotsAcrossWorkspaces } from "#engine";
import type { LaneId, LaneKey } from "#lanes";
import { putLane, test } from "../harness/engine.ts";

test("workspaces take turns when slots of keys are reassigned, however many lanes the first one changed", async ({ database, engine }) => {
  const [first, other] = [await putLane(database, { paused: true }), await putLane(database, { paused: true })];
  await database.query(
    `insert into lane (workspace_id, kind, name, served, paused, reassign_after_key)
     select $1, 'queue', 'q' || i, 'push', true, '' from generate_series(1, 30) i`,
    [first.workspaceId],
  );
  await database.query("update lane set reassign_after_key = '' where id = $1", [other.laneId]);
  const woken: LaneId[] = [];
  const waker = {
    wake: (lanes: Iterable<LaneKey>) => {
      for (const { laneId } of lanes) woken.push(laneId);
    },
    wakeAt: () => {},
  };
  expect(await reassignKeySlotsAcrossWorkspaces(engine, waker)).toBe(0);
  expect([woken.length, woken.includes(other.laneId)]).toEqual([2, true]);
  while ((await reassignKeySlotsAcrossWorkspaces(engine, waker)) === 0);
  expect(woken.length).toBe(31);
});
