/** The type of a field. With a `?`, it may be absent or null. A list of strings names its only values. */
export type FieldKind = "string" | "string?" | "strings" | "number" | "number?" | "error" | readonly string[];

type Fields = Readonly<Record<string, FieldKind>>;

type NumberField<F extends Fields> = { [Name in keyof F]: F[Name] extends "number" ? Name : never }[keyof F] & string;
type LabelField<F extends Fields> = { [Name in keyof F]: F[Name] extends "string" | readonly string[] ? Name : never }[keyof F] & string;

/** A metric, and how an event changes it, by fields that are numbers and by fields that can be labels. */
export type EventMetric<Numbers extends string = string, Labels extends string = string> = {
  readonly name: string;
  readonly help: string;
} & (
  | { readonly type: "counter"; readonly increment?: Numbers; readonly labels?: readonly Labels[] }
  | { readonly type: "gauge"; readonly set: Numbers }
  /** A histogram in seconds, from a field in milliseconds. */
  | { readonly type: "histogram"; readonly observeMs: Numbers; readonly buckets: readonly number[] }
);

export type Severity = "debug" | "info" | "warn" | "error";

/** An event: its severity, meaning and fields, and the metrics that it changes. */
const event = <const F extends Fields = Record<never, never>>(
  severity: Severity,
  meaning: string,
  fields: F = {} as F,
  metrics: readonly EventMetric<NumberField<F>, LabelField<F>>[] = [],
) => ({ severity, meaning, fields, metrics });

/**
 * Every event that a node emits: a fact, in the past tense, with its fields. `npm run docs` generates the tables of events and metrics
 * in docs/operations.md from it.
 */
export const EVENTS = {
  // The node.
  node_started: event("info", "The node serves requests.", { leaseId: "number?", url: "string", version: "string" }),
  node_drain_started: event("info", "The node stops. It claims no more jobs and waits for callbacks in flight.", { inFlight: "number" }),
  node_stopped: event("info", "The node has closed everything."),
  node_lease_lost: event("warn", "The node could not renew its lease in time. It ended its attempts and registers again.", {
    leaseId: "number?",
  }),
  bootstrap_key_refused: event("warn", "`TIDEMILL_BOOTSTRAP_KEY` is not a key of this database: the first workspace exists already."),
  loop_failed: event(
    "warn",
    "A pass of a background loop failed. The loop tries again after a pause.",
    { loop: "string", failures: "number", error: "error" },
    [{ type: "counter", name: "tidemill_loop_failures_total", help: "Failed passes of background loops.", labels: ["loop"] }],
  ),
  close_failed: event("warn", "A stopping node could not close one of its parts.", { error: "error" }),
  release_failed: event(
    "warn",
    "A stopping node could not release jobs, or end its lease. Other nodes rescue them when the lease has ended.",
    {
      error: "error",
    },
  ),

  // People and mail.
  setup_link_made: event(
    "warn",
    "Nobody can sign in to the dashboard yet. The first to open this link becomes its first person. It can be used once, within 72 hours.",
    { url: "string" },
  ),
  oidc_failed: event("warn", "Signing in with the identity provider failed.", { error: "error" }),
  identity_linked: event("info", "A person added an account of the identity provider to their own.", {
    personId: "string",
    issuer: "string",
  }),
  mail_disabled: event("warn", "`TIDEMILL_SMTP_URL` is set but no mail is sent: links in mail need `TIDEMILL_PUBLIC_URL`."),
  mail_sent: event("info", "The SMTP server accepted a mail.", { subject: "string" }, [
    { type: "counter", name: "tidemill_mails_sent_total", help: "Mails that the SMTP server accepted." },
  ]),
  mail_failed: event("warn", "The SMTP server did not accept a mail. It is not sent again.", { subject: "string", error: "error" }, [
    { type: "counter", name: "tidemill_mails_failed_total", help: "Mails that the SMTP server did not accept." },
  ]),
  person_signed_in: event("info", "A person signed in to the dashboard.", { personId: "string", method: "string", address: "string" }, [
    { type: "counter", name: "tidemill_sign_ins_total", help: "Sign-ins of people.", labels: ["method"] },
  ]),
  sign_in_refused: event("info", "Somebody tried to sign in to the dashboard with a wrong password or code.", { address: "string" }, [
    { type: "counter", name: "tidemill_sign_ins_refused_total", help: "Sign-ins with a wrong password or code." },
  ]),

  authenticator_not_decrypted: event(
    "warn",
    "The secret of a person's authenticator cannot be decrypted: its key was given up, or it was altered. The person needs a recovery code, or a reset.",
    { personId: "string", error: "error" },
  ),

  // The database.
  database_writes_refused: event(
    "error",
    "The database can be reached but accepts no writes: it is read-only, or its disk is full. The node cannot renew its lease and does no work. It tries again until `database_writes_resumed`.",
    { error: "error" },
  ),
  database_writes_resumed: event("warn", "The database accepts writes again.", { refusedMs: "number" }),
  migrations_ran: event("info", "The schema was brought up to date.", { names: "strings" }),
  migrations_awaited: event("info", "Another node brings the schema up to date. The start waits for it, and logs this once a minute."),
  migration_postponed: event(
    "warn",
    "A migration waits for locks that other transactions hold: those of nodes of an older version, or of a session that was left open. `sessions` lists them. The node tries again when they have ended. It logs this after each try, and once a minute.",
    { migration: "string", sessions: "strings" },
  ),
  database_connections_limited: event(
    "warn",
    "PostgreSQL allows fewer connections at the moment than the node may open. The node makes do with those that it gets.",
    { free: "number", wanted: "number", reason: "string" },
  ),
  database_connections_refused: event(
    "warn",
    "PostgreSQL refused connections, because the role, the database or the server has as many as it may have. The parts of the node share those that are `open`. Reported at most every 10 seconds: `count` is the number of refusals since the last report. Refusals after the last report are not yet in the metric.",
    { open: "number", wanted: "number", count: "number", error: "error" },
    [
      {
        type: "counter",
        name: "tidemill_database_connections_refused_total",
        help: "Connections that PostgreSQL refused because too many were open.",
        increment: "count",
      },
    ],
  ),
  listener_lost: event("warn", "The connection that receives notifications broke. The node polls until it has a new one.", {
    error: "error",
  }),
  notify_failed: event("warn", "Other nodes could not be notified of new work. They find it when they poll.", { error: "error" }),
  counts_corrected: event(
    "warn",
    "The stored number of jobs of some queues was wrong and was corrected. The cause: nodes of an older version ran beside newer ones, or jobs were changed by hand.",
    { lanes: "number" },
    [{ type: "counter", name: "tidemill_counts_corrected_total", help: "Queues whose number of jobs was corrected.", increment: "lanes" }],
  ),
  recount_cancel_failed: event("warn", "A stopping node could not cancel its count of jobs. It tries again until the count has ended.", {
    error: "error",
  }),
  history_dropped: event("debug", "Partitions of months whose rows have all expired were dropped.", { partitions: "strings" }),
  partition_failed: event(
    "warn",
    "A partition of a month could not be created or dropped, or expired rows could not be deleted. It is tried again: after 5 minutes if a lock was held, otherwise after an hour.",
    { table: "string", error: "error" },
  ),
  partition_skipped: event(
    "warn",
    "Months have no partition: the default partition has too many of their rows. To move them would block reads and writes of history for too long. They stay in the default partition.",
    { table: "string", months: "strings" },
  ),
  lane_sweep_failed: event(
    "warn",
    "What a deleted queue, workflow or webhook left could not be deleted. It is tried again, after the others.",
    {
      workspaceId: "string",
      laneId: "number",
      error: "error",
    },
  ),
  partitions_failed: event("warn", "The partitions could not be brought up to date at the start. The loop tries again.", {
    error: "error",
  }),

  // The embedded PostgreSQL.
  postgres_initialised: event("info", "A new data directory was made.", { cluster: "string", tookMs: "number" }),
  postgres_started: event("info", "The embedded PostgreSQL was started.", { pid: "number", cluster: "string", tookMs: "number" }),
  postgres_adopted: event("info", "A PostgreSQL that already ran on the data directory is used.", {
    pid: "number",
    cluster: "string",
    tookMs: "number",
  }),
  postgres_died: event("warn", "The embedded PostgreSQL died. The node starts it again.", { pid: "number" }),
  postgres_restart_failed: event("error", "The embedded PostgreSQL could not be started again. The node tries again after a pause.", {
    retryInMs: "number",
    error: "error",
  }),
  postgres_stopped: event("info", "The embedded PostgreSQL was stopped.", {
    pid: "number",
    mode: ["fast", "immediate"],
    tookMs: "number",
  }),
  postgres_left_running: event("warn", "The embedded PostgreSQL did not stop in time and was left running.", {
    pid: "number",
    tookMs: "number",
  }),

  // HTTP.
  request_refused: event("debug", "A request was not valid HTTP, or the node could not serve it for now (503).", {
    requestId: "string",
    method: "string?",
    url: "string?",
    error: "error",
  }),
  request_failed: event("error", "A request failed for a reason that the caller cannot help (500), or in a deadlock (503).", {
    requestId: "string",
    method: "string",
    url: "string",
    error: "error",
  }),
  requests_refused_by_database: event(
    "warn",
    "Requests got 503 because the database failed: it refused to write, for example because its disk is full, was too slow, or could not be reached. Reported at most every 10 seconds: `count` is the number of these requests since the last report. Those after the last report are not yet in the metric.",
    { count: "number", error: "error" },
    [
      {
        type: "counter",
        name: "tidemill_database_refusals_total",
        help: "Requests that got 503 because of the database.",
        increment: "count",
      },
    ],
  ),
  request_rate_limited: event(
    "debug",
    "A request was refused because its workspace exceeded its rate limit (429).",
    { requestId: "string", workspaceId: "string", limit: "number" },
    [{ type: "counter", name: "tidemill_requests_rate_limited_total", help: "Requests refused with 429." }],
  ),
  share_refused: event(
    "debug",
    "A workspace could not get more of a resource that workspaces share (503).",
    { resource: "string", workspaceId: "string" },
    [
      {
        type: "counter",
        name: "tidemill_share_refusals_total",
        help: "Requests that could not get more of a shared resource.",
        labels: ["resource"],
      },
    ],
  ),
  connections_refused: event(
    "warn",
    "New connections were closed, because as many were open as `TIDEMILL_MAX_CONNECTIONS` allows, all with a request in progress. Reported at most every 10 seconds: `count` is the number of refusals since the last report. Refusals after the last report are not yet in the metric.",
    { listener: ["public", "internal"], max: "number", count: "number" },
    [
      {
        type: "counter",
        name: "tidemill_connections_refused_total",
        help: "Connections closed because too many were open.",
        increment: "count",
        labels: ["listener"],
      },
    ],
  ),
  rate_limit_store_lost: event("warn", "Requests cannot be counted in the database. The node counts alone.", { error: "error" }),
  rate_limit_store_recovered: event("info", "Requests are counted in the database again."),
  key_uses_lost: event("warn", "A stopping node could not write when API keys were last used.", { error: "error" }),

  // Enqueue.
  jobs_enqueued: event("debug", "Jobs were accepted.", { count: "number" }, [
    { type: "counter", name: "tidemill_jobs_enqueued_total", help: "Jobs accepted.", increment: "count" },
  ]),
  executions_refused: event("debug", "Requests were refused because the month's quota is used up (402).", { requests: "number" }, [
    { type: "counter", name: "tidemill_quota_refusals_total", help: "Requests refused with 402.", increment: "requests" },
  ]),
  enqueue_batch_split: event("warn", "The database refused requests that were written together. Each is written alone.", {
    requests: "number",
    error: "error",
  }),
  enqueue_handoff_failed: event("error", "Jobs were stored, but handing them to the dispatcher failed.", {
    error: "error",
  }),

  // Attempts.
  claim_failed: event("warn", "Jobs could not be claimed. The node tries again after a pause.", { error: "error" }, [
    { type: "counter", name: "tidemill_claims_failed_total", help: "Claims of jobs that failed." },
  ]),
  attempt_ended: event(
    "debug",
    "An attempt ended.",
    {
      jobId: "string",
      attempt: "number",
      outcome: ["complete", "retry", "fail", "defer", "release"],
      tookMs: "number",
      inFlight: "number",
    },
    [
      { type: "counter", name: "tidemill_attempts_total", help: "Attempts that ended.", labels: ["outcome"] },
      {
        type: "histogram",
        name: "tidemill_callback_duration_seconds",
        help: "Time from sending a callback to the end of its response.",
        observeMs: "tookMs",
        buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900],
      },
      { type: "gauge", name: "tidemill_callbacks_in_flight", help: "Callbacks in flight when the last one ended.", set: "inFlight" },
    ],
  ),
  callback_blocked: event(
    "info",
    "The name of a callback's host resolved to an address that callbacks may not reach. The tenant sees `DNS`, as for a name that does not exist.",
    { jobId: "string", address: "string?", error: "error" },
  ),
  callbacks_postponed: event(
    "warn",
    "Callbacks could not be sent, because the node lacks file descriptors or memory, or cannot reach its name server. Their jobs are tried again and use no attempt. Reported at most every 10 seconds.",
    { error: "error" },
  ),
  delivery_crashed: event("error", "An attempt could not be made, because of a fault in the node. It counts as failed.", {
    jobId: "string",
    error: "error",
  }),
  job_kind_not_found: event(
    "error",
    "A job is of a kind that this node does not know, for example one of a later version. It is left to other nodes.",
    {
      jobId: "string",
      kind: "string",
    },
  ),
  settle_retried: event("warn", "The outcomes of attempts could not be written. The node tries again.", { error: "error" }),
  settle_failed: event("error", "The database refuses a job's outcome. The job goes to the dead-letter queue.", {
    jobId: "string",
    error: "error",
  }),
  settle_lost_race: event("debug", "Attempts ended after their jobs were cancelled or rescued. Nothing was changed.", { count: "number" }, [
    { type: "counter", name: "tidemill_settles_lost_total", help: "Attempts that ended after a cancel or a rescue.", increment: "count" },
  ]),
  jobs_released: event("debug", "A stopping node released the jobs that it had not finished.", { count: "number" }),
  jobs_rescued: event("warn", "Jobs were taken back from nodes whose lease has expired.", { count: "number" }, [
    { type: "counter", name: "tidemill_jobs_rescued_total", help: "Jobs taken back from dead nodes.", increment: "count" },
  ]),
  locked_jobs_retried: event("warn", "Jobs of a lane could not be moved while their concurrency keys were locked. The node tries again.", {
    workspaceId: "string",
    laneId: "number",
    error: "error",
  }),
  leases_expired: event("warn", "Leases of workers expired before their jobs were settled. The attempts failed.", { count: "number" }),
  circuit_opened: event(
    "warn",
    "A queue's endpoint failed 20 times in a row. The queue waits, and probes it one job at a time.",
    { workspaceId: "string", laneId: "number" },
    [{ type: "counter", name: "tidemill_circuits_opened_total", help: "Circuits that opened." }],
  ),
  circuit_closed: event("info", "A queue's endpoint has recovered.", {
    workspaceId: "string",
    laneId: "number",
    failedProbes: "number",
    openMs: "number",
  }),
  circuit_close_failed: event("warn", "A circuit could not be closed. The next probe tries again.", { error: "error" }),

  // Workers.
  worker_jobs_released: event(
    "info",
    "A worker did not get the response that brought it jobs. They were released, and no attempt was used.",
    {
      worker: "string",
      count: "number",
    },
  ),
  run_journal_rejected: event(
    "warn",
    "The journal of a run does not fit the code of the worker that took it. The run waits for other code, and no attempt was used.",
    { runId: "string", workflow: "string", step: "string", version: "string?" },
    [
      {
        type: "counter",
        name: "tidemill_runs_unfit_total",
        help: "Executions of runs whose journal did not fit the code.",
      },
    ],
  ),
  run_release_failed: event(
    "warn",
    "Runs that wait for other code could not be released when their workflow was registered. The next registration releases them.",
    { workflow: "string", error: "error" },
  ),
  worker_release_failed: event("warn", "Jobs that a worker did not get could not be released. Their attempts fail when their leases end.", {
    error: "error",
  }),
  worker_record_failed: event(
    "warn",
    "The times of workers' last calls could not be written. The node tries again with their next calls.",
    {
      error: "error",
    },
  ),
  lane_holders_read_failed: event(
    "warn",
    "The node could not look up which workers held jobs of a deleted queue or workflow. The workers find out when they extend or settle.",
    { error: "error" },
  ),

  // Schedules and approvals.
  schedules_fired: event(
    "debug",
    "Schedules that were due fired in one transaction.",
    { schedules: "number", jobs: "number", lateMs: "number" },
    [
      {
        type: "histogram",
        name: "tidemill_schedule_lateness_seconds",
        help: "How late the oldest tick was among those that fired in one transaction.",
        observeMs: "lateMs",
        buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600],
      },
    ],
  ),
  schedule_jobs_made: event("debug", "Schedules made jobs.", { count: "number" }, [
    { type: "counter", name: "tidemill_schedule_jobs_total", help: "Jobs that schedules created.", increment: "count" },
  ]),
  schedule_parse_failed: event("error", "This node cannot read a schedule, for example its time zone. It is tried again in an hour.", {
    workspaceId: "string",
    schedule: "string",
    cron: "string",
    timezone: "string",
    error: "error",
  }),
  schedule_ticks_not_written: event("error", "The database refused to write the ticks of workspaces. They stay due.", {
    workspaces: "strings",
    error: "error",
  }),
  jobs_decided: event(
    "debug",
    "Jobs of approval queues were decided.",
    { decision: ["approved", "rejected"], by: ["caller", "timeout"], count: "number" },
    [
      {
        type: "counter",
        name: "tidemill_approvals_decided_total",
        help: "Jobs of approval queues that were decided, by callers or by their timeout.",
        increment: "count",
        labels: ["decision", "by"],
      },
    ],
  ),
  approval_decisions_not_written: event(
    "error",
    "The database refused to write the overdue decisions of workspaces. Their jobs stay pending.",
    {
      workspaces: "strings",
      error: "error",
    },
  ),

  // Webhooks.
  webhook_deliveries_not_written: event(
    "error",
    "The database refused to make deliveries of the events of workspaces. They are tried again.",
    {
      workspaces: "strings",
      error: "error",
    },
  ),
  delivery_cancel_failed: event(
    "warn",
    "Pending deliveries of a webhook that was switched off could not be cancelled immediately. They are cancelled later.",
    { webhook: "string", error: "error" },
  ),
  webhook_disable_failed: event(
    "warn",
    "A webhook that has failed for five days could not be switched off. It is tried again, after the others.",
    { workspaceId: "string", webhook: "string", error: "error" },
  ),
  webhook_disabled: event("warn", "A webhook was switched off: no delivery succeeded for five days.", {
    workspaceId: "string",
    webhook: "string",
  }),

  // Secrets.
  secret_access_failed: event("error", "The database refused to hand out secrets. The attempts that need them are tried again.", {
    uses: "number",
    error: "error",
  }),
  secret_decrypt_failed: event("warn", "A secret could not be decrypted. Jobs that need it fail.", {
    workspaceId: "string",
    secret: "string",
    error: "error",
  }),
  keyring_read_failed: event("error", "The node could not read the master keys again. It continues with those it has.", { error: "error" }),
  master_key_not_found: event("error", "The node does not have a master key that is in use.", { masterKeyId: "string" }),
  key_file_update_failed: event("warn", "A rotation is over, but the node could not rename its key files.", { error: "error" }),
};
