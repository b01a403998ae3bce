import type { AttemptEntry, JobState } from "@tidemill/contract";
import { type JobId, type JsonParts, notFound, type ProblemError, type Timestamp, typeId, uuidOf, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";

/**
 * Every way in which a job's state may change. Guards and the diagram in docs/architecture.md derive from it (I12). `null` stands for
 * a job that does not exist yet, or no longer exists.
 */
export const JOB_MOVES = {
  enqueue: { from: [null], to: "waiting" },
  delay: { from: [null], to: "delayed" },
  requireApproval: { from: [null], to: "pending_approval" },
  startEagerly: { from: [null], to: "active" },
  approve: { from: ["pending_approval"], to: "waiting" },
  approveDelayed: { from: ["pending_approval"], to: "delayed" },
  reject: { from: ["pending_approval"], to: "rejected" },
  comeDue: { from: ["delayed"], to: "waiting" },
  claim: { from: ["waiting"], to: "active" },
  succeed: { from: ["active"], to: "completed" },
  backOff: { from: ["active"], to: "delayed" },
  exhaust: { from: ["active"], to: "failed" },
  release: { from: ["active"], to: "waiting" },
  cancel: { from: ["waiting", "delayed", "pending_approval", "active"], to: "cancelled" },
  retry: { from: ["failed", "cancelled", "rejected"], to: "waiting" },
  /** For a job of an approval queue that was never decided: a cancel and a retry do not approve it. */
  requireApprovalAgain: { from: ["cancelled"], to: "pending_approval" },
  remove: { from: ["completed", "failed", "cancelled", "rejected"], to: null },
} as const satisfies Record<string, { from: readonly (JobState | null)[]; to: JobState | null }>;

/** Identifies a job. Every statement on a job starts with its workspace (I11). */
export interface JobKey {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
  readonly id: JobId;
}

/** A row of the view `job_record`. `attempts` is the number allowed, not counting the `spared` ones. */
export interface JobRow {
  readonly id: JobId;
  readonly state: JobState;
  readonly priority: number;
  readonly attempt: number;
  readonly spared: number;
  readonly attempts: number;
  readonly run_at: Timestamp;
  readonly created_at: Timestamp;
  readonly started_at: Timestamp | null;
  readonly finished_at: Timestamp | null;
  readonly tag: string | null;
  readonly concurrency_key: string | null;
  /** JSON text, as it was sent. */
  readonly payload: string;
  readonly result: string | null;
  readonly last_error: string | null;
  /** Name of the schedule that created it, and the tick that it was created for. */
  readonly schedule: string | null;
  readonly scheduled_for: Timestamp | null;
  readonly idempotency_key: string | null;
  /** The decision on it, JSON. */
  readonly approval: string | null;
}

export const showJobId = (id: JobId): string => typeId("job", id);

export const jobNotFound = (id: JobId, queue: string): ProblemError => notFound({ resource: "job", id: showJobId(id), queue });

export const readJobId = (text: string): JobId | null => uuidOf("job", text) as JobId | null;

/** An entry of `attempts_log` as it is stored: JSON text. Commas join the entries. */
export const logEntry = (entry: AttemptEntry): string => JSON.stringify(entry);

/**
 * The job as JSON text. Payload and result are copied as they were received: parsing them would lose the digits of big numbers and
 * the order of keys.
 */
export function showJob(job: JobRow, queue: string, more = ""): JsonParts {
  const { tag, concurrency_key, started_at, finished_at, schedule, scheduled_for, idempotency_key } = job;
  return [
    `{"id":"${showJobId(job.id)}","queue":${JSON.stringify(queue)},"state":"${job.state}","payload":`,
    job.payload,
    `,"tag":${tag === null ? "null" : JSON.stringify(tag)},"priority":${job.priority},` +
      `"concurrencyKey":${concurrency_key === null ? "null" : JSON.stringify(concurrency_key)},` +
      `"idempotencyKey":${idempotency_key === null ? "null" : JSON.stringify(idempotency_key)},` +
      `"attempt":${job.attempt},"attempts":${job.attempts + job.spared},"run_at":"${job.run_at}","created_at":"${job.created_at}",` +
      `"started_at":${started_at === null ? "null" : `"${started_at}"`},"finished_at":${finished_at === null ? "null" : `"${finished_at}"`},"result":`,
    job.result ?? "null",
    `,"schedule":${schedule === null ? "null" : JSON.stringify(schedule)},` +
      `"scheduled_for":${scheduled_for === null ? "null" : `"${scheduled_for}"`},"approval":${job.approval ?? "null"},"last_error":${job.last_error ?? "null"}${more}}`,
  ];
}
