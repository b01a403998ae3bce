import type { JobState } from "@tidemill/contract";
import type pg from "pg";
import type { JobId } from "#kernel";
import type { LaneKey } from "#lanes";
import type { NewJob } from "../../src/jobs/new-job.ts";
import type { TestDatabase } from "./database.ts";

/** A job with default settings. */
export const PLAIN_JOB: NewJob = {
  payload: "{}",
  delaySeconds: 0,
  runAtMs: null,
  tag: null,
  priority: 0,
  concurrencyKey: null,
  attempts: null,
  backoffDelayMs: null,
  idempotency: null,
  trace: null,
};

export interface Seed {
  readonly state: JobState;
  /** The lease that holds the job while it is active. */
  readonly leaseId?: number;
  readonly tag?: string;
  readonly priority?: number;
  /** An SQL expression. */
  readonly runAt?: string;
  readonly finishedAt?: string;
  readonly expiresAt?: string;
  readonly errorCode?: string;
  readonly count?: number;
}

/** The states of jobs in `job_history`. Jobs in other states are in `job`. */
export const FINISHED: readonly JobState[] = ["completed", "cancelled", "rejected"];

/** Inserts jobs in a given state into their table, with the values that they would have by then. Returns their ids, oldest first. */
export async function putJobs(database: TestDatabase, lane: LaneKey, seed: Seed): Promise<JobId[]> {
  const { state, leaseId = null, tag = null, priority = 0, errorCode = "HTTP_STATUS", count = 1 } = seed;
  const { runAt = "moment()", finishedAt = "moment()", expiresAt = "moment() + interval '30 days'" } = seed;
  const started = state === "active" || state === "failed" || state === "completed";
  const attempt = state === "failed" ? 3 : started ? 1 : 0;
  const error = state === "failed" ? JSON.stringify({ code: errorCode, message: "It failed.", status: null }) : null;
  const values = [lane.workspaceId, lane.laneId, state, priority, attempt, tag, started, error, count];
  const columns =
    "workspace_id, lane_id, id, kind, state, priority, attempt, spared, attempts, backoff_delay_ms, run_at, created_at, started_at, tag, last_error, payload, attempts_log";
  const fields = `$1::uuid, $2::bigint, ('01900000-0000-7000-8000-' || lpad(nextval('lane_id_seq')::text, 12, '0'))::uuid, 'queue', $3::job_state, $4::smallint,
    $5::int, 0, 3, 1000, ${runAt}, moment(), case when $7::boolean then moment() end, $6::text, $8::text, '{}', ''`;
  const text = FINISHED.includes(state)
    ? `insert into job_history (${columns}, finished_at, expires_at) select ${fields}, ${finishedAt}, ${expiresAt} from generate_series(1, $9) returning id`
    : `insert into job (${columns}, finished_at, error_code, lease_id)
       select ${fields}, case when $3::job_state = 'failed' then ${finishedAt} end, $8::json ->> 'code', $10::bigint from generate_series(1, $9) returning id`;
  const put = await (FINISHED.includes(state)
    ? database.query<{ id: JobId }>(text, values)
    : insertJobs<{ id: JobId }>(database, text, [...values, leaseId]));
  return put.map(({ id }) => id);
}

/** Runs a statement that inserts rows into `job`, and corrects the kept numbers of jobs, which such a statement passes by. */
export async function insertJobs<Row extends pg.QueryResultRow>(database: TestDatabase, text: string, values: unknown[]): Promise<Row[]> {
  const put = await database.query<Row>(text, values);
  await database.query("select recount_jobs(null)");
  return put;
}

/** The job's state. Null if it does not exist. */
export async function stateOf(database: TestDatabase, id: JobId): Promise<JobState | null> {
  const found = await database.query<{ state: JobState }>(
    "select state from job where id = $1 union all select state from job_history where id = $1",
    [id],
  );
  if (found.length > 1) throw new Error(`Job ${id} is in both tables.`);
  return found[0]?.state ?? null;
}
