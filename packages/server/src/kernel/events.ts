/** What happened, in the past tense, with the fields that tell it. Features emit; the log and the metrics subscribe. */
export type EmitEvent = (event: string, fields?: Record<string, unknown>) => void;

export type Severity = "debug" | "info" | "warn" | "error";

/** Facts that an operator should see without asking for detail. What is not named here is `debug`. */
const SEVERITIES: Record<string, Severity> = {
  node_started: "info",
  node_draining: "info",
  node_stopped: "info",
  migrations_ran: "info",
  postgres_initialised: "info",
  postgres_started: "info",
  postgres_adopted: "info",
  postgres_stopped: "info",
  bootstrap_key_refused: "warn",
  jobs_rescued: "warn",
  node_lease_lost: "warn",
  postgres_died: "warn",
  postgres_restart_failed: "error",
  postgres_left_running: "warn",
  loop_failed: "warn",
  listener_lost: "warn",
  settle_retried: "warn",
  enqueue_group_split: "warn",
  rate_store_away: "warn",
  rate_store_back: "info",
  settle_failed: "error",
  circuit_opened: "warn",
  circuit_closed: "info",
  circuit_close_failed: "warn",
  schedule_unreadable: "error",
  schedules_failed: "error",
  approvals_failed: "error",
  partitions_failed: "warn",
  pass_on_failed: "error",
  claim_failed: "warn",
  notify_failed: "warn",
  key_uses_lost: "warn",
  keyring_unreadable: "error",
  secret_access_failed: "error",
  secret_unreadable: "warn",
  vault_key_missing: "error",
  key_file_unsettled: "warn",
  give_back_failed: "warn",
  close_failed: "warn",
  request_failed: "error",
  callback_broke: "error",
};

export class Events {
  readonly #subscribers: ((event: string, fields: Record<string, unknown>, severity: Severity) => void)[] = [];

  readonly emit: EmitEvent = (event, fields = {}) => {
    const severity = SEVERITIES[event] ?? "debug";
    for (const tell of this.#subscribers) tell(event, fields, severity);
  };

  subscribe(tell: (event: string, fields: Record<string, unknown>, severity: Severity) => void): void {
    this.#subscribers.push(tell);
  }
}
