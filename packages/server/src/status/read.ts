import { type Check, each, JOB_STATES, planHas, RUN_STATUSES, type Status } from "@tidemill/contract";
import type { Principal } from "#http";
import { type Db, SharedReads } from "#kernel";
import { readQuota } from "#usage";
import { showWorkspaceId } from "#workspaces";
import { readWorkspaceSummary, type WorkspaceSummary } from "./store.ts";

/** Reads what is left of a workspace's requests per minute; null when it has no limit. */
export type ReadRequestRate = (principal: Principal) => Promise<Status["rate_limit"]>;

/** Reads a workspace's health, its number of jobs, and what is left of its quota. */
export class StatusReader {
  readonly #readRequestRate: ReadRequestRate;
  /** Counting a million jobs is slow: requests that come at the same time share one count, so that they do not use up the connections. */
  readonly #summaries = new SharedReads<WorkspaceSummary>();

  constructor(readRequestRate: ReadRequestRate) {
    this.#readRequestRate = readRequestRate;
  }

  async read(db: Db, principal: Principal): Promise<Status> {
    const { workspaceId } = principal;
    const summary = await this.#summaries.read(workspaceId, () => readWorkspaceSummary(db, workspaceId));
    return statusOf(principal, summary, await readQuota(db, workspaceId), await this.#readRequestRate(principal));
  }
}

/** Which queues and workflows wait for a plan with callbacks, in words. */
const waitingFor = (queues: number, workflows: number): string =>
  [
    ...(queues > 0 ? [`Queues that wait for them: ${queues}.`] : []),
    ...(workflows > 0 ? [`Workflows that wait for them: ${workflows}.`] : []),
  ].join(" ");

function statusOf(
  { workspaceId }: Principal,
  summary: WorkspaceSummary,
  quota: Awaited<ReturnType<typeof readQuota>>,
  rate: Status["rate_limit"],
): Status {
  const {
    name,
    plan,
    queues,
    schedules,
    with_callback,
    with_endpoint,
    failed_last_minute,
    open_circuits,
    failing_webhooks,
    without_worker,
  } = summary;
  const stopped = !planHas(plan, "callback_url") && with_callback + with_endpoint > 0;
  const checks: Check[] = [
    check(
      "quota",
      quota.remaining !== 0,
      quota.limit === null ? "Executions have no limit." : `${quota.used} of ${quota.limit} executions are used.`,
    ),
    check(
      "callbacks",
      !stopped,
      stopped ? `The plan has no callbacks. ${waitingFor(with_callback, with_endpoint)}` : "Callbacks are sent.",
    ),
    check(
      "webhooks",
      failing_webhooks === 0,
      failing_webhooks === 0
        ? "No webhook was switched off because it failed."
        : `Webhooks that were switched off because they failed: ${failing_webhooks}.`,
    ),
    check("circuits", open_circuits === null, open_circuits === null ? "No circuit is open." : `Circuits are open: ${open_circuits}.`),
    check(
      "workers",
      without_worker === null,
      without_worker === null
        ? "No jobs or runs wait for a worker that is not there."
        : `Jobs or runs wait, and no worker asks for them: ${without_worker}.`,
    ),
    check("dead_letters", failed_last_minute === 0, `Jobs that failed for good in the last minute: ${failed_last_minute}.`),
  ];
  return {
    status: checks.every(({ status }) => status === "ok") ? "ok" : "degraded",
    workspace: { id: showWorkspaceId(workspaceId), name, plan },
    checks,
    jobs: each(JOB_STATES, (state) => summary[state]),
    runs: each(RUN_STATUSES, (status) => summary.runs?.[status] ?? 0),
    queues,
    schedules,
    quota,
    rate_limit: rate,
  };
}

const check = (name: Check["name"], isOk: boolean, message: string): Check => ({ name, status: isOk ? "ok" : "degraded", message });
