import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Clock, typeId, type Uuid, UuidSource, uuidOf } from "#kernel";

const uuid = fc.uuid({ version: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] }).map((text) => text as Uuid);
const random = { bytes: (length: number) => randomBytes(length), fraction: () => 0 };

/** A clock that shows the given moments one after the other, then stays. */
function clockOf(moments: number[]): Clock {
  let at = 0;
  return { nowMs: () => moments[Math.min(at++, moments.length - 1)] ?? 0, elapsedMs: () => 0 };
}

const idsOf = (moments: number[], count: number): Uuid[] => {
  const source = new UuidSource(clockOf(moments), random);
  return Array.from({ length: count }, () => source.next());
};

describe("a TypeID", () => {
  // Published: https://github.com/jetify-com/typeid/blob/main/spec/valid.yml
  test.each([
    ["00000000-0000-0000-0000-000000000000", "00000000000000000000000000"],
    ["00000000-0000-0000-0000-000000000001", "00000000000000000000000001"],
    ["00000000-0000-0000-0000-00000000000a", "0000000000000000000000000a"],
    ["00000000-0000-0000-0000-000000000010", "0000000000000000000000000g"],
    ["00000000-0000-0000-0000-000000000020", "00000000000000000000000010"],
    ["ffffffff-ffff-ffff-ffff-ffffffffffff", "7zzzzzzzzzzzzzzzzzzzzzzzzz"],
    ["0110c853-1d09-52d8-d73e-1194e95b5f19", "0123456789abcdefghjkmnpqrs"],
    ["01890a5d-ac96-774b-bcce-b302099a8057", "01h455vb4pex5vsknk084sn02q"],
  ])("a TypeID of %s ends with %s", (id, suffix) => {
    expect(typeId("job", id as Uuid)).toBe(`job_${suffix}`);
    expect(uuidOf("job", `job_${suffix}`)).toBe(id);
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

  test.each([
    ["", "nothing"],
    ["job_", "no digits"],
    ["01h455vb4pex5vsknk084sn02q", "no prefix"],
    ["_01h455vb4pex5vsknk084sn02q", "an empty prefix"],
    ["ws_01h455vb4pex5vsknk084sn02q", "another prefix"],
    ["jobs_01h455vb4pex5vsknk084sn02q", "a longer prefix"],
    ["JOB_01h455vb4pex5vsknk084sn02q", "a prefix in capitals"],
    ["job-01h455vb4pex5vsknk084sn02q", "another separator"],
    ["job_01H455VB4PEX5VSKNK084SN02Q", "digits in capitals"],
    ["job_01h455vb4pex5vsknk084sn02", "25 digits"],
    ["job_01h455vb4pex5vsknk084sn02qq", "27 digits"],
    ["job_81h455vb4pex5vsknk084sn02q", "more than 128 bits"],
    ["job_01h455vb4pex5vsknk084sn02i", "the letter i"],
    ["job_01h455vb4pex5vsknk084sn02l", "the letter l"],
    ["job_01h455vb4pex5vsknk084sn02o", "the letter o"],
    ["job_01h455vb4pex5vsknk084sn02u", "the letter u"],
    ["job_01h455vb4pex5vsknk084sn02q\n", "a line break"],
    [" job_01h455vb4pex5vsknk084sn02q", "a space"],
    ["01890a5d-ac96-774b-bcce-b302099a8057", "a plain UUID"],
  ])("a TypeID is not %j: %s", (text) => {
    expect(uuidOf("job", text)).toBeNull();
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

  test("new ids grow while the clock stands still, past the 4,096 that fit a millisecond", () => {
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
