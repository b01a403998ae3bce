import { expect, test } from "vitest";
import { runSynchronously } from "#kernel";
import { readResponse } from "../../src/pushes/read-response.ts";

const read = (kind: string, outcome: object) =>
  runSynchronously(
    readResponse(kind, { kind: "responded", status: 200, headers: {}, body: Buffer.from(JSON.stringify(outcome)) }, 0, null),
  );

const undone = { key: "undo(pay)", type: "undo", status: "completed" };
const paid = { key: "pay", type: "run", status: "completed" };
const failed = { outcome: "failed", error: "No refund.", error_name: "RefundError", retry: false };

test("the outcome of an undo may have the name of its error, and steps that are undos", () => {
  expect(read("undo", { ...failed, steps: [undone] })).toMatchObject({ kind: "workerFailed", message: "No refund.", forGood: true });
  expect(read("undo", { ...failed, steps: [paid] })).toMatchObject({
    message: expect.stringContaining("steps may only be undos"),
    forGood: false,
  });
  expect(read("undo", { outcome: "suspended" })).toMatchObject({
    message: expect.stringContaining("is only for runs that have not ended"),
  });
  expect(read("hook", failed)).toMatchObject({ message: expect.stringContaining("error_name is only for runs"), forGood: false });
});
