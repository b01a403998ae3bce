import { expect } from "vitest";
import type { Database } from "#kernel";
import { sweepEventKeysAcrossWorkspaces, sweepExpiredRunsAcrossWorkspaces } from "#workflows";
import { foldGroupsAcrossWorkspaces } from "../../src/dead-letters/groups-store.ts";
import { foldCountsAcrossWorkspaces } from "../../src/jobs/store/fold-counts.ts";
import { deleteOldMetricsAcrossWorkspaces } from "../../src/jobs/store/forget-metrics.ts";
import { sweepBatchKeysAcrossWorkspaces, sweepIdempotencyKeysAcrossWorkspaces } from "../../src/jobs/sweep-idempotency-keys.ts";
import { foldUsageAcrossWorkspaces } from "../../src/usage/fold.ts";
import { sweepWebhookEventsAcrossWorkspaces } from "../../src/webhooks/expire.ts";
import { foldRunCountsAcrossWorkspaces } from "../../src/workflows/runs/fold-run-counts.ts";
import { putLane, test } from "../harness/engine.ts";

/** A loop: a table of which it takes rows, values of a row (of `lane`, and of a number `n`), and how many it takes in a pass. */
type Loop = readonly [string, string, number, (engine: Database) => Promise<number | undefined>];

const LOOPS: Record<string, Loop> = {
  "fold-counts": ["job_delta (workspace_id, lane_id, at, live)", "workspace_id, lane.id, moment(), 1", 5_000, foldCountsAcrossWorkspaces],
  "fold-run-counts": [
    "run_delta (workspace_id, lane_id, status, runs)",
    "workspace_id, lane.id, 'pending', least(1, n)",
    20_000,
    foldRunCountsAcrossWorkspaces,
  ],
  "fold-usage": ["usage_delta (workspace_id, lane_id, at, jobs)", "workspace_id, lane.id, moment(), 1", 20_000, foldUsageAcrossWorkspaces],
  "fold-dead-letters": [
    "dead_letter_delta (workspace_id, fingerprint, at, jobs, lane_id)",
    "workspace_id, 'f', moment(), 1, lane.id",
    10_000,
    foldGroupsAcrossWorkspaces,
  ],
  "sweep-batch-keys": [
    "batch_key (workspace_id, lane_id, key, job_ids, fingerprint, expires_at)",
    "workspace_id, lane.id, n::text, '{}', sha256('x'), moment()",
    1_000,
    sweepBatchKeysAcrossWorkspaces,
  ],
  "sweep-idempotency-keys": [
    "idempotency_key (workspace_id, lane_id, key, job_id, fingerprint, check_at)",
    "workspace_id, lane.id, n::text, gen_random_uuid(), sha256('x'), moment()",
    1_000,
    sweepIdempotencyKeysAcrossWorkspaces,
  ],
  "forget-metrics": [
    "job_metric (workspace_id, lane_id, span, at)",
    "workspace_id, lane.id, 60, moment() - interval '8 days' - n * interval '1 minute'",
    10_000,
    (engine) => deleteOldMetricsAcrossWorkspaces(engine, 7),
  ],
  "sweep-event-keys": [
    "event_key (workspace_id, key, event_id, fingerprint, run_ids, expires_at)",
    "workspace_id, n::text, gen_random_uuid(), 'f', '{}', moment()",
    500,
    sweepEventKeysAcrossWorkspaces,
  ],
  "sweep-runs": [
    "run (workspace_id, lane_id, id, status, attempts, input, trigger, created_at, ended_at, expires_at)",
    "workspace_id, lane.id, gen_random_uuid(), 'completed', 1, '{}', 'api', moment(), moment(), moment() - n * interval '1 second'",
    500,
    sweepExpiredRunsAcrossWorkspaces,
  ],
  "sweep-webhook-events": [
    "webhook_event (workspace_id, id, type, body, expires_at)",
    "workspace_id, gen_random_uuid(), 'job.completed', '{}', moment() - n * interval '1 second'",
    500,
    sweepWebhookEventsAcrossWorkspaces,
  ],
};

// No node runs here: it would make passes, too.
test.for(Object.entries(LOOPS))("a pass of %s is one portion, and the next one comes at once", async ([, loop], { database, engine }) => {
  const [into, values, portion, pass] = loop;
  const { workspaceId, laneId } = await putLane(database);
  const table = into.split(" ")[0];
  await database.query(`insert into ${into} select ${values} from lane, generate_series(1, ${portion + 1}) n where lane.id = $1`, [laneId]);
  expect(await pass(engine)).toBe(0);
  const left = () => database.query(`select from ${table} where workspace_id = $1`, [workspaceId]);
  expect(await left()).toHaveLength(1);
  expect(await pass(engine)).toBeUndefined();
  expect(await left()).toEqual([]);
});
