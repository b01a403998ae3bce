import { describe, expect } from "vitest";
import type { Transactional } from "#kernel";
import { putLane, test } from "../harness/engine.ts";
import { FlowFixture } from "../harness/flow-fixture.ts";
import { PLAIN_JOB } from "../harness/jobs.ts";
import { overlap } from "../harness/overlap.ts";

const JOB = { ...PLAIN_JOB, concurrencyKey: "a" };
const limits = (perKey: number) => ({ concurrency: null, perKey, rate: null, paused: false });

describe("a limit of keys that is changed while jobs are being stored", () => {
  test.for([
    ["lowered", 5, 1],
    ["raised", 1, 5],
  ] as const)(
    "a key's limit that is changed while jobs are being stored counts for them once it is %s",
    async ([, before, after], { database, engine, clock }) => {
      const world = new FlowFixture(database, engine, clock, await putLane(database));
      await world.limit(limits(before));
      const enqueue = (tx: Transactional) => world.enqueue([JOB, JOB, JOB, JOB, JOB], tx);
      await overlap(
        engine,
        (work) => world.inTransaction(work),
        enqueue,
        () => world.limit(limits(after)),
      );
      await world.reassignKeySlots();
      expect(await world.claim(await world.startNode(), 10, false)).toHaveLength(after);
    },
  );
});
