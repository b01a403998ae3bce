import { type Check, JOB_STATES, planHas, RUN_STATUSES, type Status } from "@tidemill/contract";
import type { Principal } from "#http";
import { type Db, SharedReads } from "#kernel";
import { readQuota } from "#usage";
import { showWorkspaceId } from "#workspaces";
import { readStanding, type Standing } from "./store.ts";

/** Where a workspace stands with its requests per minute; null when it has no limit. */
export type LookAtRate = (principal: Principal) => Promise<Status["rate_limit"]>;

/** Reads a workspace's health, its jobs, and what it has left of its quota. */
export class StatusReader {
  readonly #lookAtRate: LookAtRate;
  /** Counting a million jobs takes a while: who asks often must not take the connections of the others. */
  readonly #standings = new SharedReads<Standing>();

  constructor(lookAtRate: LookAtRate) {
    this.#lookAtRate = lookAtRate;
  }

  async read(db: Db, principal: Principal): Promise<Status> {
    const { workspaceId } = principal;
    const standing = await this.#standings.read(workspaceId, () => readStanding(db, workspaceId));
    return statusOf(principal, standing, await readQuota(db, workspaceId), await this.#lookAtRate(principal));
  }
}

function statusOf(
  { workspaceId }: Principal,
  standing: Standing,
  quota: Awaited<ReturnType<typeof readQuota>>,
  rate: Status["rate_limit"],
): Status {
  const { name, plan, queues, schedules, with_callback, failed_last_minute } = standing;
  const stopped = planHas(plan, "callback_url") ? 0 : with_callback;
  const checks: Check[] = [
    check(
      "quota",
      quota.remaining !== 0,
      quota.limit === null ? "Executions have no limit." : `${quota.used} of ${quota.limit} executions are used.`,
    ),
    check(
      "callbacks",
      stopped === 0,
      stopped === 0 ? "Callbacks go out." : `The plan has no callbacks. Queues that wait for them: ${stopped}.`,
    ),
    check("dead_letters", failed_last_minute === 0, `Jobs that failed for good in the last minute: ${failed_last_minute}.`),
  ];
  return {
    status: checks.every(({ status }) => status === "ok") ? "ok" : "degraded",
    workspace: { id: showWorkspaceId(workspaceId), name, plan },
    checks,
    jobs: Object.fromEntries(JOB_STATES.map((state) => [state, standing[state]])),
    // None can be started yet.
    runs: Object.fromEntries(RUN_STATUSES.map((status) => [status, 0])),
    queues,
    schedules,
    quota,
    rate_limit: rate,
  };
}

const check = (name: Check["name"], isOk: boolean, message: string): Check => ({ name, status: isOk ? "ok" : "degraded", message });
