import { describe, expect, test } from "vitest";
import { canonicalJson, runAtOnce, type SlicedWork } from "#kernel";
import { fingerprintOf } from "../../src/jobs/fingerprint.ts";

const OPTIONS = { delaySeconds: 0, runAtMs: null, tag: null, priority: 0, concurrencyKey: null, attempts: null, backoffDelayMs: null };
const fingerprint = (payload: string) => fingerprintOf({ ...OPTIONS, payload });

function pausesOf(work: SlicedWork<unknown>): number {
  let pauses = 0;
  while (!work.next().done) pauses += 1;
  return pauses;
}

describe("the fingerprint of a large job", () => {
  const members = Array.from({ length: 20 }, (_, index) => `"m${index}":"${String(index % 10).repeat(20_000)}🌊"`);
  const payload = `{${members.join()}}`;

  test("the fingerprint of a large job depends neither on the order of members nor on white space", () => {
    const respelled = `{ ${members.toReversed().join(" ,\n")}}`;
    expect(runAtOnce(fingerprint(respelled))).toBe(runAtOnce(fingerprint(payload)));
    expect(runAtOnce(fingerprint(payload.replace("🌊", "🌋")))).not.toBe(runAtOnce(fingerprint(payload)));
  });

  test("the fingerprint of a large job is hashed piece by piece", () => {
    const pieces = runAtOnce(canonicalJson(payload));
    expect(pieces.length).toBeGreaterThanOrEqual(members.length);
    expect(pausesOf(fingerprint(payload))).toBeGreaterThanOrEqual(pieces.length);
  });
});
