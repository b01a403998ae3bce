/** A table or a view. The owner is a folder of the server. */
interface Table {
  readonly owner: string;
  readonly holds: string;
}

/**
 * The tables and views of the schema. Only the owner writes a table: `npm run check` refuses any other statement that writes it.
 * docs/schema.md and the table in docs/architecture.md are generated from this list and the database.
 */
export const TABLES: Readonly<Record<string, Table>> = {
  migration: { owner: "kernel", holds: "Applied migrations." },
  workspace: { owner: "workspaces", holds: "Tenants, with their plan and limits." },
  api_key: { owner: "workspaces", holds: "Hashes of the API keys." },
  access_change: { owner: "workspaces", holds: "Changes of what keys may do, in the last hour." },
  person: { owner: "people", holds: "People who sign in to the dashboard." },
  membership: { owner: "people", holds: "Who belongs to which workspace, with which role." },
  session: { owner: "people", holds: "Sessions of people, by the hash of their token." },
  link: { owner: "people", holds: "Links that can be used once, by the hash of their token: set-up, invitations, resets." },
  totp: { owner: "people", holds: "Secrets of authenticators (TOTP), encrypted." },
  recovery_code: { owner: "people", holds: "Hashes of codes for people who have lost their authenticator." },
  passkey: { owner: "people", holds: "Public keys of passkeys." },
  challenge: { owner: "people", holds: "What passkeys and identity providers were asked, by hash, until they answer." },
  identity: { owner: "people", holds: "Accounts of identity providers (OIDC) that belong to people." },
  known_device: { owner: "people", holds: "Browsers in which people have signed in, by the hash of their token." },
  account_event: { owner: "people", holds: "What happened to people's accounts: sign-ins, and changes of how they sign in." },
  throttle: { owner: "people", holds: "How often a sign-in, a code or a reset was tried lately, by account and by address." },
  audit_event: { owner: "audit", holds: "The audit log: who did what. Append-only, chained by hash." },
  audit_chain: { owner: "audit", holds: "The head of each workspace's chain of audit events." },
  audit_dropped: { owner: "audit", holds: "Ranges of audit events that retention removed from the chains." },
  usage_delta: {
    owner: "usage",
    holds: "Counts of accepted executions and of attempts. Appended with each write, added to `usage_day` seconds later.",
  },
  usage_day: { owner: "usage", holds: "The same counts, per day." },
  usage: { owner: "usage", holds: "View: `usage_delta` and `usage_day` together." },
  quota_month: { owner: "usage", holds: "Executions of the month, for workspaces with a monthly limit." },
  request_rate: { owner: "usage", holds: "Requests of the last minute, for workspaces with a rate limit." },
  vault: { owner: "vault", holds: "The id of the master key in use." },
  secret: { owner: "vault", holds: "Secrets, encrypted." },
  own_key: { owner: "vault", holds: "Data keys for what the service itself keeps encrypted, wrapped by the master key." },
  lane: {
    owner: "lanes",
    holds: "Lanes, in which jobs wait: limits, pause, and how they are served. A deleted lane stays until its jobs are removed.",
  },
  lane_starts: { owner: "lanes", holds: "Recent job starts of each lane with a rate limit." },
  lane_gate: { owner: "lanes", holds: "View: how many more jobs of each lane its limits allow to start." },
  circuit: { owner: "circuits", holds: "Open circuits." },
  queue: { owner: "queues", holds: "Settings of queues that are not settings of their lane." },
  queue_record: { owner: "queues", holds: "View: queues that are not deleted, with the settings of their lane." },
  lease: { owner: "engine", holds: "Leases of nodes and workers. Each claim is held under one." },
  node: { owner: "engine", holds: "Nodes: what they are, the load they last told, and the ids of their master keys." },
  worker: { owner: "engine", holds: "Workers, as they last called." },
  job: { owner: "jobs", holds: "Unfinished jobs and dead letters." },
  job_history: { owner: "jobs", holds: "Finished jobs, in one partition per month of expiry." },
  job_record: { owner: "jobs", holds: "View: every job that a caller may see." },
  active_job: { owner: "jobs", holds: "View: jobs of queues that are active." },
  operation: { owner: "operations", holds: "Changes of many jobs, and how far they are." },
  job_delta: {
    owner: "jobs",
    holds: "Changes in the number of jobs. Appended with each move, added to `job_count`, `tally` and `job_metric` seconds later.",
  },
  job_count: { owner: "jobs", holds: "The number of unfinished jobs and dead letters of each lane." },
  job_recount: { owner: "jobs", holds: "When the jobs of each workspace were compared with `job_count`." },
  job_count_now: { owner: "jobs", holds: "View: `job_count` and `job_delta` together." },
  job_metric: { owner: "jobs", holds: "What happened in queues, by minutes and by hours." },
  job_metric_now: { owner: "jobs", holds: "View: `job_metric` and `job_delta` together." },
  deploy: { owner: "metrics", holds: "Deploys that callers marked." },
  circuit_change: { owner: "circuits", holds: "When circuits opened and closed." },
  job_metric_sample: { owner: "jobs", holds: "The minute for which the oldest waiting jobs are looked up, and how far that is." },
  tally_now: { owner: "jobs", holds: "View: `tally` and `job_delta` together." },
  run_delta: { owner: "workflows", holds: "Changes in the number of runs by status. Added to `run_count` seconds later." },
  run_count: { owner: "workflows", holds: "The number of runs of each workflow by status." },
  run_count_now: { owner: "workflows", holds: "View: `run_count` and `run_delta` together." },
  dead_letter_delta: { owner: "dead-letters", holds: "Changes in the number of dead letters. Added to `dead_letter_group` seconds later." },
  dead_letter_group: { owner: "dead-letters", holds: "Groups of dead letters: what failed, and how many jobs." },
  dead_letter_hour: { owner: "dead-letters", holds: "How many jobs of each group failed in each hour of the last day." },
  tally: { owner: "jobs", holds: "Counts of what finished: appended to, and folded later." },
  idempotency_key: { owner: "jobs", holds: "The names that callers gave to their jobs." },
  batch_key: { owner: "jobs", holds: "The names that callers gave to their batches in the last day." },
  workflow: { owner: "workflows", holds: "Settings of workflows that are not settings of their lane." },
  workflow_record: { owner: "workflows", holds: "View: workflows that are not deleted, with the settings of their lane." },
  run: { owner: "workflows", holds: "Runs of workflows." },
  run_step: { owner: "workflows", holds: "Journals of runs: what their steps have done, and what they wait for." },
  run_key: { owner: "workflows", holds: "The names that callers gave to their triggers." },
  run_hook: { owner: "workflows", holds: "Lifecycle hooks of runs that have not fired yet, and those that failed." },
  run_unfit: { owner: "workflows", holds: "Runs whose journal did not fit the code that executed them last." },
  workflow_version: { owner: "workflows", holds: "Versions of the code with which workers have asked for runs." },
  run_call: { owner: "workflows", holds: "HTTP calls of steps that have no outcome yet." },
  workflow_event: { owner: "workflows", holds: "Names of events that start runs of a workflow." },
  signal: { owner: "workflows", holds: "Signals that runs have registered, with the payloads of those that were completed." },
  event_key: { owner: "workflows", holds: "The names that callers gave to their events." },
  webhook_topic: { owner: "outbox", holds: "The types of events that webhooks of a workspace want. Others are not stored." },
  event_outbox: { owner: "outbox", holds: "Events that webhooks have not got yet, stored with what caused them." },
  webhook: { owner: "webhooks", holds: "Settings of webhooks that are not settings of their lane." },
  webhook_record: { owner: "webhooks", holds: "View: webhooks that are not deleted, with the settings of their lane." },
  webhook_event: { owner: "webhooks", holds: "Events that webhooks get, with their bodies." },
  webhook_delivery: { owner: "webhooks", holds: "Deliveries of events to webhooks." },
  schedule: { owner: "schedules", holds: "What makes jobs by the clock." },
  schedule_skip: { owner: "schedules", holds: "The newest ticks of each schedule that made no job, and why." },
  schedule_tick: { owner: "schedules", holds: "Ticks of the last minute that made a job." },
};

/**
 * A function of the schema that writes tables. It belongs to the owner of these tables and follows the owner's rules, so that any
 * statement may call it. A function that writes a table of another owner gives a reason.
 */
interface WritingFunction {
  readonly owner: string;
  readonly writes: readonly string[];
  readonly reason?: string;
}

export const WRITING_FUNCTIONS: Readonly<Record<string, WritingFunction>> = {
  record_access_change: { owner: "workspaces", writes: ["access_change"] },
  append_audit_event: { owner: "audit", writes: ["audit_chain", "audit_event"] },
  record_dropped: { owner: "audit", writes: ["audit_dropped"] },
  take_requests: { owner: "usage", writes: ["request_rate"] },
  announce: { owner: "outbox", writes: ["event_outbox"] },
  count_dead_letters: { owner: "dead-letters", writes: ["dead_letter_delta"] },
  count_dead_letter: { owner: "dead-letters", writes: ["dead_letter_delta"] },
  assign_key_slots: { owner: "jobs", writes: ["job"] },
  recount_jobs: { owner: "jobs", writes: ["job_delta"] },
  record_run_status: { owner: "workflows", writes: ["run_delta"] },
  close_execution: { owner: "workflows", writes: ["run"] },
  delete_parts_of_run: { owner: "workflows", writes: ["run_key", "run_step"] },
  make_partition: {
    owner: "retention",
    writes: ["audit_event", "job_history"],
    reason: "Rows that expire in the new month move to its partition. This is the same for all tables that are partitioned by month.",
  },
  drop_partitions: {
    owner: "retention",
    writes: ["audit_event", "job_history"],
    reason: "Expiry is the same for all tables that are partitioned by month.",
  },
  clear_expired: {
    owner: "retention",
    writes: ["audit_event", "job_history"],
    reason: "Expiry is the same for all tables that are partitioned by month.",
  },
};

/** A file that writes tables of another owner. */
interface Exception {
  /** Under packages/server/src. */
  readonly file: string;
  readonly writes: readonly string[];
  readonly reason: string;
}

/** Statements that must write tables of two owners in one round trip. docs/sql.md shows them. */
export const EXCEPTIONS: readonly Exception[] = [
  {
    file: "jobs/store/claim.ts",
    writes: ["circuit", "lane_starts"],
    reason:
      "A claim under an open circuit is its probe, and each claim counts against the lane's rate limit. In separate statements, two nodes could both take the last start.",
  },
  {
    file: "jobs/store/settle.ts",
    writes: ["circuit", "circuit_change", "usage_delta"],
    reason:
      "A circuit opens, and an attempt is counted, exactly when the attempt's settle wins. A separate statement would cost each settle a round trip.",
  },
  {
    file: "jobs/store/insert.ts",
    writes: ["usage_delta"],
    reason:
      "Accepted executions are counted in the statement that stores their jobs. A separate statement would cost each enqueue a round trip.",
  },
  {
    file: "workflows/runs/run-store.ts",
    writes: ["usage_delta"],
    reason: "A started run is counted in the statement that stores it, as jobs are.",
  },
  {
    file: "workflows/executions/complete-store.ts",
    writes: ["job", "job_delta"],
    reason:
      "A run that completes is settled, with its last steps, in one statement. In separate ones each would cost four round trips more.",
  },
  {
    file: "workflows/triggers/trigger-store.ts",
    writes: ["job", "job_delta", "usage_delta"],
    reason:
      "A triggered run is started with its job, and counted, in one statement. In separate ones each trigger would cost five round trips more.",
  },
  {
    file: "jobs/store/assign-key-slots.ts",
    writes: ["lane"],
    reason:
      "The statement that assigns slots to a lane's keys records its progress. In separate statements, a crash between them could leave keys out.",
  },
];
