import { describe, expect } from "vitest";
import type { NamedClaim } from "#jobs";
import type { RunId } from "#kernel";
import { insertPlainStepsAcrossWorkspaces } from "../../src/workflows/plain-step-store.ts";
import { completedStep } from "../../src/workflows/step-store.ts";
import { test } from "../harness/engine.ts";
import { keepingValues } from "../harness/statements.ts";
import { laneOfWorkflow, putWorkflow } from "../harness/workflows.ts";

const WHOLE = 64 * 1024;

describe("one step of one run", () => {
  test.for([
    { length: 100, isLarge: false },
    { length: 3_000_000, isLarge: true },
  ])(
    "one step of one run is stored; of $length characters it is sent in pieces: $isLarge",
    async ({ length, isLarge }, { service, engine }) => {
      const { id: workflow, trigger, take } = await putWorkflow(service);
      await trigger();
      await take();
      const { workspaceId, laneId } = await laneOfWorkflow(service, workflow);
      const [claim] = await service.database.query<NamedClaim & { id: string }>(
        `select lane_id::int as "laneId", id, lease_id::int as "leaseId", attempt from job where lane_id = $1`,
        [laneId],
      );
      const id = claim?.id as string as RunId;
      const { db, sent } = keepingValues(engine);
      const output = JSON.stringify("é".repeat(length));
      const stored = await insertPlainStepsAcrossWorkspaces(db, [
        { workspaceId, id, claim: claim as NamedClaim, steps: [completedStep("a", "run", output)] },
      ]);
      expect([...stored]).toEqual([[id, 1]]);
      const texts = sent.filter((value) => typeof value === "string" || Buffer.isBuffer(value)) as (string | Buffer)[];
      expect(Math.max(...texts.map((text) => text.length))).toBeLessThanOrEqual(WHOLE);
      expect(texts.includes(output)).toBe(!isLarge);
      const rows = await service.database.query(
        "select s.output = $2 as same, r.journal_bytes::int as bytes from run r, run_step s where r.id = $1 and s.run_id = r.id",
        [id, output],
      );
      expect(rows).toEqual([{ same: true, bytes: Buffer.byteLength(output) }]);
    },
  );
});
