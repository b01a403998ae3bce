import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Clock, type IdPrefix, typeId, type Uuid, UuidSource, uuidOf } from "#kernel";
import { readVectors } from "../harness/vectors.ts";

const uuid = fc.uuid({ version: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] }).map((text) => text as Uuid);
const random = { bytes: (length: number) => randomBytes(length), fraction: () => 0 };

/** A clock that shows the given moments one after the other, and then the last one. */
function clockOf(moments: number[]): Clock {
  let at = 0;
  return { nowMs: () => moments[Math.min(at++, moments.length - 1)] ?? 0, elapsedMs: () => 0 };
}

const idsOf = (moments: number[], count: number): Uuid[] => {
  const source = new UuidSource(clockOf(moments), random);
  return Array.from({ length: count }, () => source.next());
};

describe("a TypeID", () => {
  // Of those of UUIDs with `job_` the first eight are published: https://github.com/jetify-com/typeid/blob/main/spec/valid.yml
  test.each(readVectors("ids").valid)("a TypeID is read and written as the vectors have it: $name, $id", ({ prefix, uuid: of, id }) => {
    expect(typeId(prefix as IdPrefix, of as Uuid)).toBe(id);
    expect(uuidOf(prefix as IdPrefix, id)).toBe(of);
  });

  test("a TypeID is read back as the UUID it was made of", () => {
    fc.assert(
      fc.property(uuid, (id) => uuidOf("key", typeId("key", id)) === id),
      { numRuns: 1_000 },
    );
  });

  test("a TypeID sorts as its UUID does", () => {
    fc.assert(
      fc.property(
        uuid,
        uuid,
        (a, b) => Math.sign(+(a > b) - +(a < b)) === Math.sign(+(typeId("ws", a) > typeId("ws", b)) - +(typeId("ws", a) < typeId("ws", b))),
      ),
    );
  });

  test.each(readVectors("ids").invalid)("a TypeID is not what the vectors call $name: $id", ({ prefix, id }) => {
    expect(uuidOf(prefix as IdPrefix, id)).toBeNull();
  });

  test("a TypeID is nothing but what is written of some UUID", () => {
    const near = fc.string({ unit: fc.constantFrom(..."0123456789abcdefghijklmnopqrstuvwxyzA_-"), minLength: 26, maxLength: 26 });
    fc.assert(
      fc.property(near, (suffix) => {
        const read = uuidOf("job", `job_${suffix}`);
        expect(read === null || typeId("job", read) === `job_${suffix}`).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("new ids", () => {
  test("new ids are UUIDs of version 7 that carry the clock's milliseconds", () => {
    const at = Date.UTC(2026, 10, 21, 12);
    const [id = ""] = idsOf([at + 0.7], 1);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(at);
  });

  test("new ids grow while the clock is stalled, past the 4,096 that fit a millisecond", () => {
    const ids = idsOf([1_000], 10_000);
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(10_000);
  });

  test("new ids grow whatever the clock does", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 2, maxLength: 200 }), (moments) => {
        const ids = idsOf(moments, moments.length);
        for (const [index, id] of ids.entries()) if (index > 0) expect(id > (ids[index - 1] ?? "")).toBe(true);
      }),
    );
  });
});
