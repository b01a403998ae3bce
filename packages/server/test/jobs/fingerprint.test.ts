import { describe, expect, test } from "vitest";
import { runSynchronously, type SlicedWork } from "#kernel";
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
    expect(runSynchronously(fingerprint(respelled))).toBe(runSynchronously(fingerprint(payload)));
    expect(runSynchronously(fingerprint(payload.replace("🌊", "🌋")))).not.toBe(runSynchronously(fingerprint(payload)));
  });

  test("the fingerprint of a large job is hashed in slices", () => {
    expect(pausesOf(fingerprint(payload))).toBeGreaterThan(1);
  });

  test("the fingerprint of a job does not change from one version to the next: fingerprints are stored", () => {
    const sent = '{ "to": "Zoë 🌊", "at": [1.0, {"z": null, "a": "\\u00e9"}], "a b": {"10": 1, "9": [] } }';
    expect(runSynchronously(fingerprint(sent))).toBe("159e2114938af1311a037d08e89a44bede752203ca9b502c115c7e38497225af");
    expect(runSynchronously(fingerprint(payload))).toBe("9b875b8c84c133b3fb57c2fde096eb64426c307bfefcc112cb896c1ebf5e47c5");
  });
});
