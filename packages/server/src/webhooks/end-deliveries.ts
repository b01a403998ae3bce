import { removeUnlocked, removeWhenUnlocked } from "#jobs";
import type { EmitEvent, JobId, Transactional } from "#kernel";
import { type Aborter, findInTurns, type LaneId, type LaneKey, LaneTries } from "#lanes";
import { cancelSomeDeliveries } from "./delivery-store.ts";
import { findCancellingAcrossWorkspaces, lockCancelling, markCancelled, type NamedWebhook } from "./store.ts";

export interface EndingDeliveries {
  readonly db: Transactional;
  /** Aborts the deliveries that were being sent. */
  readonly aborter: Pick<Aborter, "abortJob">;
}

/** How many deliveries one transaction cancels, and one pass. */
interface Portions {
  readonly chunk: number;
  readonly ofPass: number;
}

/** A webhook that has failed for days may have a million deliveries. 10,000 take a tenth of a second. */
const PORTIONS: Portions = { chunk: 5_000, ofPass: 50_000 };
const MAX_WEBHOOKS = 100;

/** Cancels the first portion only. `endDeliveriesAcrossWorkspaces` cancels the others. None of them is sent in the meantime. */
export const endFirstDeliveries = async (ending: EndingDeliveries, lane: LaneKey): Promise<void> =>
  void (await endPortion(ending, lane, null, PORTIONS.chunk));

/** What passes over all webhooks need. */
interface EndingAllDeliveries extends EndingDeliveries {
  readonly emit: EmitEvent;
  /** Webhooks whose deliveries could not be cancelled in the passes before. */
  readonly failed: Set<LaneId>;
}

/**
 * Cancels deliveries of webhooks that were switched off and have some left, in one transaction per portion, so that a webhook is locked for
 * a short time only. Webhooks take turns, and one node at a time cancels deliveries of a webhook. A webhook that is switched on in the
 * meantime keeps the rest. A webhook that fails is reported. From then on it comes last, in turns with others that failed: each of its tries
 * may take long.
 *
 * @returns 0 when there may be more to do, in milliseconds
 * @throws the first failure, when only webhooks are left that fail; UNAVAILABLE when the database is too slow for several
 */
export async function endDeliveriesAcrossWorkspaces(
  ending: EndingAllDeliveries,
  portions: Portions = PORTIONS,
): Promise<number | undefined> {
  const { failed } = ending;
  const { others, again } = await findInTurns(failed, MAX_WEBHOOKS, (which, limit) =>
    findCancellingAcrossWorkspaces(ending.db, which, limit),
  );
  const tries = new LaneTries<NamedWebhook>(failed, ({ name }, error) => ending.emit("delivery_cancel_failed", { webhook: name, error }));
  const cancelPortion: CancelPortion = (webhook, after, limit) => tries.try(webhook, () => endPortion(ending, webhook, after, limit));
  for (const group of [others, again]) if (await endPortions(group, portions, cancelPortion)) return 0;
  if (tries.failures.length > 0) throw tries.failures[0];
  return others.length === MAX_WEBHOOKS ? 0 : undefined;
}

/** Cancels a portion of a webhook's deliveries. Returns the last one; null when none is left, or it has failed. */
type CancelPortion = (webhook: NamedWebhook, after: JobId | null, limit: number) => Promise<JobId | null>;

/** Cancels portions of these webhooks in turns, up to those of a pass. Returns whether some are left. */
async function endPortions(webhooks: readonly NamedWebhook[], { chunk, ofPass }: Portions, cancelPortion: CancelPortion): Promise<boolean> {
  const portion = Math.min(chunk, Math.ceil(ofPass / webhooks.length));
  let unfinished = webhooks.map((webhook) => ({ webhook, last: null as JobId | null }));
  for (let left = ofPass; left > 0 && unfinished.length > 0; ) {
    left -= unfinished.length * portion;
    const more: typeof unfinished = [];
    for (const { webhook, last: after } of unfinished) {
      const last = await cancelPortion(webhook, after, portion);
      if (last) more.push({ webhook, last });
    }
    unfinished = more;
  }
  return unfinished.length > 0;
}

/**
 * A settle locks a job before its delivery. So a locked job is left until the deliveries are cancelled. By then it may have been claimed,
 * or its settle has found that the delivery has ended.
 *
 * @returns the last delivery of the portion; null when none is left, or another transaction cancels them
 */
async function endPortion({ db, aborter }: EndingDeliveries, lane: LaneKey, after: JobId | null, limit: number): Promise<JobId | null> {
  const { ids, removed } = await db.transaction(async (tx) => {
    if (!(await lockCancelling(tx, lane))) return { ids: [], removed: [] };
    const ids = await cancelSomeDeliveries(tx, lane, { after, limit });
    const removed = ids.length > 0 ? await removeUnlocked(tx, lane, ids) : [];
    if (ids.length < limit) await markCancelled(tx, lane);
    return { ids, removed };
  });
  const abort = (jobs: typeof removed) => {
    for (const { id, lease_id: leaseId } of jobs) if (leaseId !== null) aborter.abortJob(id, leaseId);
  };
  abort(removed);
  if (removed.length < ids.length) {
    const gone = new Set(removed.map(({ id }) => id));
    abort(
      await removeWhenUnlocked(
        db,
        lane,
        ids.filter((id) => !gone.has(id)),
      ),
    );
  }
  return ids.length < limit ? null : (ids.at(-1) ?? null);
}
