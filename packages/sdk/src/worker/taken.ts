import type * as contract from "@tidemill/contract";
import { RunAbortedError } from "../workflow/errors.ts";
import type { WorkerCalls } from "./calls.ts";
import { JobAbortedError } from "./errors.ts";
import type { Held, HeldLeases, Lease } from "./held-leases.ts";
import type { WorkerSettings } from "./options.ts";
import type { Outcome } from "./outcomes.ts";
import { runHook } from "./run-hook.ts";
import { runJob } from "./run-job.ts";
import { runWorkflow } from "./run-workflow.ts";

/** A job, run or hook that a call has brought. */
export interface Taken {
  readonly lease: Lease;
  readonly reason: Held["reason"];
  /** Never rejects. */
  readonly execute: (held: Held) => Promise<Outcome>;
}

/** Prepares each job, run and hook of a response for its execution. */
export function takenFrom(
  { jobs, runs, hooks }: Pick<contract.WorkResponse, "jobs" | "runs" | "hooks">,
  settings: WorkerSettings,
  calls: WorkerCalls,
  leases: HeldLeases,
): Taken[] {
  return [
    ...jobs.map((job) => ({
      lease: { id: job.id, lease_token: job.lease_token },
      reason: (why: JobAbortedError["why"]) => new JobAbortedError(why),
      execute: ({ controller }: Held) => runJob(settings, job, controller.signal),
    })),
    ...runs.map((run) => ({
      lease: { id: run.runId, lease_token: run.lease_token },
      reason: (why: RunAbortedError["why"]) => new RunAbortedError(why),
      execute: (held: Held) => runWorkflow(settings, calls, leases, run, held),
    })),
    ...hooks.map((hook) => ({
      lease: { id: hook.id, lease_token: hook.lease_token },
      reason: (why: RunAbortedError["why"]) => new RunAbortedError(why),
      execute: () => runHook(settings, hook),
    })),
  ];
}
