/** A table, or a view: the folder of the server that owns it, and what it holds. */
interface Table {
  readonly owner: string;
  readonly holds: string;
}

/**
 * The tables and views of the schema. Only the owner writes a table: `npm run check` refuses any other statement that does.
 * docs/schema.md and the table in docs/architecture.md are generated from this and from the database.
 */
export const TABLES: Readonly<Record<string, Table>> = {
  migration: { owner: "kernel", holds: "Migrations that were applied." },
  workspace: { owner: "workspaces", holds: "Tenants: their plan and their limits." },
  api_key: { owner: "workspaces", holds: "Hashes of the API keys." },
  audit_event: { owner: "audit", holds: "Who did what: append-only, chained by hash." },
  audit_chain: { owner: "audit", holds: "The head of each workspace's chain of audit events." },
  audit_dropped: { owner: "audit", holds: "Stretches of the chains that retention dropped." },
  usage_delta: { owner: "usage", holds: "What was accepted and attempted: appended by each statement that does it, folded seconds later." },
  usage_day: { owner: "usage", holds: "The same, folded into days." },
  usage: { owner: "usage", holds: "View: `usage_delta` and `usage_day` together." },
  quota_month: { owner: "usage", holds: "The executions that a workspace with a limit has used this month." },
  request_rate: { owner: "usage", holds: "The requests of the last minute, of workspaces with a rate limit." },
  vault: { owner: "vault", holds: "Which master key the secrets are wrapped by." },
  secret: { owner: "vault", holds: "Encrypted values." },
  lane: { owner: "lanes", holds: "What jobs wait in: limits, pause, and how it is served. A deleted lane stays until its jobs are swept." },
  lane_starts: { owner: "lanes", holds: "The latest starts of each lane with a rate limit." },
  lane_gate: { owner: "lanes", holds: "View: what admits the jobs of a lane." },
  circuit: { owner: "circuits", holds: "Lanes whose circuit is open." },
  queue: { owner: "queues", holds: "Settings of queues, apart from those of their lane." },
  queue_record: { owner: "queues", holds: "View: queues that are not deleted, with the settings of their lane." },
  lease: { owner: "engine", holds: "Under which claims are held, by nodes and by workers." },
  node: { owner: "engine", holds: "Running nodes, and which master keys they have." },
  job: { owner: "jobs", holds: "Jobs that are not finished, and the dead letters." },
  job_history: { owner: "jobs", holds: "Finished jobs, in one partition per month of expiry." },
  job_record: { owner: "jobs", holds: "View: every job that a caller may see." },
  tally: { owner: "jobs", holds: "Counts of what finished: appended to, and folded later." },
  idempotency_key: { owner: "jobs", holds: "The names that callers gave to their jobs." },
  schedule: { owner: "schedules", holds: "What makes jobs by the clock." },
  schedule_tick: { owner: "schedules", holds: "Ticks of the last minute that made a job." },
};

/**
 * Functions of the schema that write tables. A function belongs to the owner of the tables it writes, and any statement may call it: it
 * keeps the owner's rules. One that writes a table of another owner says why.
 */
interface WritingFunction {
  readonly owner: string;
  readonly writes: readonly string[];
  readonly reason?: string;
}

export const WRITING_FUNCTIONS: Readonly<Record<string, WritingFunction>> = {
  append_audit_event: { owner: "audit", writes: ["audit_chain", "audit_event"] },
  record_dropped: { owner: "audit", writes: ["audit_dropped"] },
  take_requests: { owner: "usage", writes: ["request_rate"] },
  assign_key_slots: { owner: "jobs", writes: ["job"] },
  make_partition: {
    owner: "retention",
    writes: ["audit_event", "job_history"],
    reason: "Rows that expire in the new month move to its partition, whatever table it is of.",
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
      "A claim of an open circuit is its probe, and each claim counts against the lane's rate limit. Apart from the claim, two nodes could both take the last.",
  },
  {
    file: "jobs/store/settle.ts",
    writes: ["circuit", "usage_delta"],
    reason:
      "A circuit opens, and an attempt is counted, exactly when the attempt's settle wins. A statement apart would cost each settle a round trip.",
  },
  {
    file: "jobs/store/insert.ts",
    writes: ["usage_delta"],
    reason:
      "Accepted executions are counted in the statement that stores their jobs. A statement apart would cost each enqueue a round trip.",
  },
  {
    file: "jobs/store/assign-key-slots.ts",
    writes: ["lane"],
    reason: "The statement that assigns slots of a lane's keys records how far it came. If they were apart, a crash could leave keys out.",
  },
];
