import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Events } from "./events.ts";

/** Prometheus metrics of a node, counted from its events. */
export function createMetrics(events: Events): Registry {
  const registry = new Registry();
  const registers = [registry];
  const enqueued = new Counter({ name: "tidemill_jobs_enqueued_total", help: "Jobs accepted.", registers });
  const refused = new Counter({ name: "tidemill_quota_refusals_total", help: "Requests refused for the month's quota.", registers });
  const limited = new Counter({ name: "tidemill_requests_rate_limited_total", help: "Requests refused for their rate.", registers });
  const attempts = new Counter({ name: "tidemill_attempts_total", help: "Attempts that ended.", labelNames: ["outcome"], registers });
  const duration = new Histogram({
    name: "tidemill_callback_duration_seconds",
    help: "From sending a callback to the end of its answer.",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900],
    registers,
  });
  const rescued = new Counter({ name: "tidemill_jobs_rescued_total", help: "Jobs taken back from dead nodes.", registers });
  const lostRaces = new Counter({ name: "tidemill_settles_lost_total", help: "Settles that came after a cancel or a rescue.", registers });
  const circuits = new Counter({ name: "tidemill_circuits_opened_total", help: "Endpoints that were taken for dead.", registers });
  const ticks = new Counter({ name: "tidemill_schedule_jobs_total", help: "Jobs that schedules made.", registers });
  const lateness = new Histogram({
    name: "tidemill_schedule_lateness_seconds",
    help: "How long the oldest tick that fired had been due, by the transactions that fire some.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600],
    registers,
  });
  const decisions = new Counter({
    name: "tidemill_approvals_decided_total",
    help: "Jobs of approval queues that were decided, by callers or by their timeout.",
    labelNames: ["decision", "by"],
    registers,
  });
  const failures = new Counter({
    name: "tidemill_loop_failures_total",
    help: "Passes of background loops that failed.",
    labelNames: ["loop"],
    registers,
  });
  const inFlight = new Gauge({ name: "tidemill_callbacks_in_flight", help: "Callbacks under way.", registers });

  const count: Record<string, (fields: Record<string, unknown>) => void> = {
    jobs_enqueued: ({ count }) => enqueued.inc(Number(count)),
    attempt_ended: ({ outcome, tookMs, inFlight: now }) => {
      attempts.inc({ outcome: String(outcome) });
      duration.observe(Number(tookMs) / 1000);
      inFlight.set(Number(now));
    },
    executions_refused: ({ requests }) => refused.inc(Number(requests)),
    request_rate_limited: () => limited.inc(),
    jobs_rescued: ({ count }) => rescued.inc(Number(count)),
    settle_lost_race: ({ count }) => lostRaces.inc(Number(count)),
    schedule_jobs_made: ({ count }) => ticks.inc(Number(count)),
    schedules_fired: ({ lateMs }) => lateness.observe(Number(lateMs) / 1000),
    jobs_decided: ({ decision, by, count }) => decisions.inc({ decision: String(decision), by: String(by) }, Number(count)),
    circuit_opened: () => circuits.inc(),
    loop_failed: ({ loop }) => failures.inc({ loop: String(loop) }),
  };
  events.subscribe((event, fields) => count[event]?.(fields));
  return registry;
}
