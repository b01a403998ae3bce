import { expect, test } from "vitest";
import type { WorkspaceId } from "#kernel";
import { FailedLanes, type LaneId, type LaneKey } from "#lanes";

const lane = (id: number): LaneKey => ({ workspaceId: "" as WorkspaceId, laneId: id as LaneId });
const [one, two, three] = [lane(1), lane(2), lane(3)];

test("lanes that failed come after the others, the longest ago first", () => {
  const failed = new FailedLanes();
  for (const each of [one, two, one]) failed.add(each);
  expect(failed.divide([one, two, three])).toEqual({ others: [three], again: [two, one] });
  failed.delete(two);
  expect(failed.divide([one, two, three])).toEqual({ others: [two, three], again: [one] });
});

test("lanes that are no longer found are forgotten", () => {
  const failed = new FailedLanes();
  for (const each of [one, two]) failed.add(each);
  failed.divide([two]);
  expect(failed.divide([one, two])).toEqual({ others: [one], again: [two] });
});
