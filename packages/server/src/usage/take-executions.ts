import type { Plan } from "@tidemill/contract";
import { type Db, type ProblemError, problem, type Timestamp, type WorkspaceId } from "#kernel";
import { announceAll } from "#outbox";
import { countExecutionsAcrossWorkspaces, lockQuotasAcrossWorkspaces, storeUsedAcrossWorkspaces } from "./store.ts";

/** Executions that are accepted together or not at all. A negative number returns executions to the quota. */
export interface Demand {
  readonly workspaceId: WorkspaceId;
  readonly executions: number;
}

interface Quota {
  readonly limit: number;
  readonly plan: Plan;
  readonly resetsAt: Timestamp;
  /** `used` was counted from the usage in this transaction. Otherwise it is the value of the row. */
  readonly counted: boolean;
  readonly usedBefore: number;
  /** The largest share of the limit, in percent, that an event has reported. */
  readonly reported: number;
  used: number;
}

/** Quotas of workspaces for the current month, locked until the transaction ends. A workspace without a limit has no quota. */
export class Quotas {
  readonly #tx: Db;
  readonly #quotas: ReadonlyMap<WorkspaceId, Quota>;

  constructor(tx: Db, quotas: ReadonlyMap<WorkspaceId, Quota>) {
    this.#tx = tx;
    this.#quotas = quotas;
  }

  /** Takes executions. Returns null, or the QUOTA_EXCEEDED that refuses them. */
  take(demand: Demand): ProblemError | null {
    const { workspaceId, executions } = demand;
    const refusal = this.refusalOf(demand);
    const quota = this.#quotas.get(workspaceId);
    // Executions that are released were never stored. A fresh count does not include them.
    if (quota && !refusal && (executions > 0 || !quota.counted)) quota.used += executions;
    return refusal;
  }

  /** The QUOTA_EXCEEDED that would refuse executions, or null. Takes none. */
  refusalOf({ workspaceId, executions }: Demand): ProblemError | null {
    const quota = this.#quotas.get(workspaceId);
    if (!quota || executions <= 0 || quota.used + executions <= quota.limit) return null;
    return quotaExceeded(quota, executions);
  }

  /** Writes the changed quotas. */
  async store(): Promise<void> {
    const changed = [...this.#quotas].filter(([, { used, usedBefore, counted }]) => counted || used !== usedBefore);
    if (changed.length === 0) return;
    const reached = changed.map(([workspaceId, quota]) => ({ workspaceId, ...quota, percents: percentsReached(quota) }));
    await storeUsedAcrossWorkspaces(
      this.#tx,
      reached.map(({ workspaceId, used, counted, reported, percents }) => ({
        workspaceId,
        used,
        counted,
        reported: percents.at(-1) ?? reported,
      })),
    );
    await announceAll(
      this.#tx,
      reached.flatMap(({ workspaceId, used, limit, plan, percents }) =>
        percents.map((percent) => ({ workspaceId, type: "quota.threshold" as const, data: { percent, used, limit, plan } })),
      ),
    );
  }
}

function quotaExceeded({ used, limit, plan, resetsAt: resets_at }: Quota, executions: number): ProblemError {
  const needed = executions === 1 ? "" : `This needs ${executions} executions. `;
  const message = `${needed}${used} of the month's ${limit} executions are used (plan ${plan}). The next month begins at ${resets_at}.`;
  return problem("QUOTA_EXCEEDED", { used, limit, plan, resets_at }, { message });
}

/** Shares of the limit that are announced, once in a month each. Percent. Source: contract §14. */
const THRESHOLDS = [80, 100];

/** The shares that are reached now and were not reported in this month. */
const percentsReached = ({ used, limit, reported }: Pick<Quota, "used" | "limit" | "reported">): number[] =>
  THRESHOLDS.filter((percent) => percent > reported && used > 0 && used * 100 >= limit * percent);

/**
 * Takes executions of the current month for each demand, in order. A demand that does not fit takes nothing; later ones may still
 * fit. All code that accepts executions calls this in the accepting transaction, which holds the locks on the quotas until it ends
 * (I9). Source: specification, Plans; contract §4.
 *
 * @returns for each demand null, or the QUOTA_EXCEEDED that refuses it
 */
export async function takeExecutions(tx: Db, demands: readonly Demand[]): Promise<(ProblemError | null)[]> {
  const quotas = await openQuotas(
    tx,
    demands.map(({ workspaceId }) => workspaceId),
  );
  const verdicts = demands.map((demand) => quotas.take(demand));
  await quotas.store();
  return verdicts;
}

/**
 * Locks the quotas of those workspaces that have one. The first call of a month counts what was used so far. So does every call in
 * the minute after a change of limits: an enqueue that began while there was no limit did not take from the quota.
 */
export async function openQuotas(tx: Db, workspaceIds: readonly WorkspaceId[]): Promise<Quotas> {
  const locked = await lockQuotasAcrossWorkspaces(tx, [...new Set(workspaceIds)]);
  const stale = locked.filter((one) => one.stale).map(({ workspaceId }) => workspaceId);
  // A separate statement after the lock, because it must see what the previous holder of the lock committed.
  const counted = stale.length > 0 ? await countExecutionsAcrossWorkspaces(tx, stale) : new Map<WorkspaceId, number>();
  const quotas = locked.map(({ workspaceId, limit, plan, used, resetsAt, reported, stale: isCounted }): [WorkspaceId, Quota] => [
    workspaceId,
    { limit, plan, resetsAt, counted: isCounted, usedBefore: used, reported, used: counted.get(workspaceId) ?? used },
  ]);
  return new Quotas(tx, new Map(quotas));
}
