import { expect, test } from "vitest";
import { AttemptDeadline } from "#engine";

const begun = (): AttemptDeadline => {
  const deadline = new AttemptDeadline();
  deadline.begin(1_000, 500);
  return deadline;
};

test("an attempt whose request is not sent yet has no deadline", () => {
  expect(new AttemptDeadline().isOver(1e9, 5_000)).toBe(false);
});

test("an attempt's deadline is its timeout after its beginning", () => {
  expect([begun().isOver(1_499, 0), begun().isOver(1_500, 0)]).toEqual([false, true]);
});

test("the time in which the node was stalled does not count, each time", () => {
  const deadline = begun();
  expect([deadline.isOver(6_100, 5_000), deadline.isOver(11_200, 5_000), deadline.isOver(11_500, 0)]).toEqual([false, false, true]);
});

test("the time in which the node was stalled before the attempt began counts for nothing", () => {
  const deadline = begun();
  expect([deadline.isOver(1_100, 5_000), deadline.isOver(1_599, 0), deadline.isOver(1_600, 0)]).toEqual([false, false, true]);
});
