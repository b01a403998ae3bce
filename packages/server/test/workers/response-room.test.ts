import { expect, test } from "vitest";
import { ResponseRoom } from "../../src/workers/response-room.ts";

test("a journal is admitted while its workspace has any room, however long it is, and a short one in any case", () => {
  let room = 100_000;
  const response = new ResponseRoom({
    hasRoom: (bytes) => room >= bytes,
    hold: (bytes) => {
      room -= bytes;
    },
  });
  expect([60_000, 60_000, 60_000, 1_000].map((bytes) => response.admit(bytes))).toEqual([true, true, false, true]);
  expect(room).toBe(-21_000);
});
