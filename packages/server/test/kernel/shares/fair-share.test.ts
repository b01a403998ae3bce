import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FairShare, type WorkspaceId } from "#kernel";

const workspace = (id: number) => `00000000-0000-0000-0000-${String(id).padStart(12, "0")}` as WorkspaceId;

/** Has a workspace take all that it may, bit by bit. Returns how much. */
function takeAll(share: FairShare, id: number): number {
  let taken = 0;
  for (let room = share.roomFor(workspace(id)); room > 0; room = share.roomFor(workspace(id))) {
    share.take(workspace(id), room);
    taken += room;
  }
  return taken;
}

describe("a resource that workspaces share", () => {
  test("one workspace may hold three quarters of it", () => {
    const share = new FairShare(4_096);
    expect(takeAll(share, 1)).toBe(3_072);
    expect([share.total, share.free]).toEqual([3_072, 1_024]);
  });

  test("workspaces that come one after the other all find room, the later ones less", () => {
    const share = new FairShare(4_096);
    const taken = [1, 2, 3, 4].map((id) => takeAll(share, id));
    expect(taken).toEqual([3_072, 768, 192, 48]);
  });

  test("a workspace that holds more than its share takes nothing until it has released", () => {
    const share = new FairShare(100);
    expect(takeAll(share, 1)).toBe(75);
    share.take(workspace(2), 20);
    share.release(workspace(1), 50);
    expect(share.roomFor(workspace(1))).toBe(Math.ceil((3 * 55 - 25) / 4));
    share.release(workspace(2), 20);
    expect(takeAll(share, 1)).toBe(50);
  });

  test("a workspace that holds nothing may take one as long as any is free, and nobody more than is free", () => {
    const share = new FairShare(2);
    expect(takeAll(share, 1)).toBe(2);
    expect(share.roomFor(workspace(2))).toBe(0);
    share.release(workspace(1), 1);
    expect(share.roomFor(workspace(2))).toBe(1);
  });

  test("no workspace gets more than three times what it leaves free, rounded up, whatever all take and release", () => {
    const step = fc.record({ id: fc.integer({ min: 1, max: 5 }), take: fc.boolean(), part: fc.double({ min: 0, max: 1, noNaN: true }) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), fc.array(step, { maxLength: 80 }), (capacity, steps) => {
        const share = new FairShare(capacity);
        const held = new Map<number, number>();
        for (const { id, take, part } of steps) {
          const own = held.get(id) ?? 0;
          const units = take ? Math.floor(share.roomFor(workspace(id)) * part) : -Math.floor(own * part);
          if (units > 0) share.take(workspace(id), units);
          else share.release(workspace(id), -units);
          held.set(id, own + units);
          expect(share.total).toBe([...held.values()].reduce((sum, one) => sum + one, 0));
          expect(share.total).toBeLessThanOrEqual(capacity);
          if (units > 1) expect(own + units - 1).toBeLessThanOrEqual(3 * (share.free + 1));
        }
        for (const [id, own] of held) share.release(workspace(id), own);
        expect([share.total, share.free, share.roomFor(workspace(1))]).toEqual([0, capacity, Math.ceil((3 * capacity) / 4)]);
      }),
    );
  });
});
