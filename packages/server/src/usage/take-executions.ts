import type { Plan } from "@tidemill/contract";
import { type Db, type ProblemError, problem, type WorkspaceId } from "#kernel";
import { countExecutionsAcrossWorkspaces, lockQuotasAcrossWorkspaces, storeUsedAcrossWorkspaces } from "./store.ts";

/** Executions that are accepted together or not at all; fewer than none gives some back. */
export interface Demand {
  readonly workspaceId: WorkspaceId;
  readonly executions: number;
}

interface Quota {
  readonly limit: number;
  readonly plan: Plan;
  /** `used` was counted just now; otherwise it is what the row says. */
  readonly counted: boolean;
  readonly usedBefore: number;
  used: number;
}

/** Workspaces' quotas of the current month, locked until the transaction ends. A workspace without a limit has none. */
export class Quotas {
  readonly #tx: Db;
  readonly #quotas: ReadonlyMap<WorkspaceId, Quota>;

  constructor(tx: Db, quotas: ReadonlyMap<WorkspaceId, Quota>) {
    this.#tx = tx;
    this.#quotas = quotas;
  }

  /** Takes executions, or answers the QUOTA_EXCEEDED that they are refused with. */
  take({ workspaceId, executions }: Demand): ProblemError | null {
    const quota = this.#quotas.get(workspaceId);
    if (!quota) return null;
    const { used, limit, plan } = quota;
    if (executions > 0 && used + executions > limit) return problem("QUOTA_EXCEEDED", { used, limit, plan });
    // What is given back was never stored, so that a count made just now does not hold it.
    if (executions > 0 || !quota.counted) quota.used += executions;
    return null;
  }

  /** Writes what was taken. */
  async store(): Promise<void> {
    const changed = [...this.#quotas].filter(([, { used, usedBefore, counted }]) => counted || used !== usedBefore);
    if (changed.length === 0) return;
    await storeUsedAcrossWorkspaces(
      this.#tx,
      changed.map(([workspaceId, { used, counted }]) => ({ workspaceId, used, counted })),
    );
  }
}

/**
 * Takes executions of the current month, demand by demand in their order; one that does not fit takes nothing, and those after it
 * may still fit. Whatever accepts executions calls this in the transaction that accepts them, which then holds the workspaces'
 * quotas until it ends (I9). Source: specification, Plans; contract §4.
 *
 * @returns for each demand null, or the QUOTA_EXCEEDED that it is refused with
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
 * Locks the quotas of those workspaces that have one. A month's first taker counts what was used so far, and so does everyone in
 * the minute after a change of limits: an enqueue that began while there was no limit did not take from the quota.
 */
export async function openQuotas(tx: Db, workspaceIds: readonly WorkspaceId[]): Promise<Quotas> {
  const locked = await lockQuotasAcrossWorkspaces(tx, [...new Set(workspaceIds)]);
  const stale = locked.filter((one) => one.stale).map(({ workspaceId }) => workspaceId);
  // After the lock, by a statement of its own: it sees what the last holder committed.
  const counted = stale.length > 0 ? await countExecutionsAcrossWorkspaces(tx, stale) : new Map<WorkspaceId, number>();
  const quotas = locked.map(({ workspaceId, limit, plan, used, stale: isCounted }): [WorkspaceId, Quota] => [
    workspaceId,
    { limit, plan, counted: isCounted, usedBefore: used, used: counted.get(workspaceId) ?? used },
  ]);
  return new Quotas(tx, new Map(quotas));
}
