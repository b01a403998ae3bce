import { describe, expect } from "vitest";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";

// Production lacks most of these (docs/decisions/0059), so it matters that tests have them.
describe("a database of the tests refuses a job", () => {
  test.for(["lease_until = now()", "key_slot = 1", "decide_at = now()", "attempt = attempts + 1", "state = 'completed'"])(
    "that waits and has %s",
    async (set, { database }) => {
      const [id] = await putJobs(database, await putLane(database), { state: "waiting" });
      await expect(database.query(`update job set ${set} where id = $1`, [id])).rejects.toThrow(/violates check constraint/);
    },
  );
});
