import type { ExtendRequest, ExtendResponse } from "@tidemill/contract";
import type { Principal } from "#http";
import { extendClaims, findCancelled } from "#jobs";
import { type JobId, toMoment } from "#kernel";
import { takeCancelledOf } from "./cancelled.ts";
import type { KnownWorker } from "./known-worker.ts";
import { servedClaims } from "./served-claims.ts";
import { verifyLeaseTokens } from "./verify-lease-tokens.ts";
import { LEASE_SECONDS, type WorkDeps } from "./work.ts";

/** Extends the leases of jobs that a worker still works on, and waits for one of its jobs to be cancelled. */
export async function extend(
  deps: WorkDeps,
  principal: Principal,
  body: Omit<ExtendRequest, "worker">,
  signal: AbortSignal,
): Promise<ExtendResponse> {
  const { workspaceId } = principal;
  const db = deps.tenants.of(workspaceId);
  const { leases, lease, wait = 0 } = body;
  const verified = await servedClaims(db, principal, await verifyLeaseTokens(deps.workers, db, workspaceId, leases));
  const claims = verified.flatMap((one) => one?.claim ?? []);
  const extended = new Map(
    (claims.length > 0 ? await extendClaims(db, workspaceId, claims, lease ?? LEASE_SECONDS, lease !== undefined) : []).map((one) => [
      one.id,
      one.leaseUntil,
    ]),
  );
  const lost = claims.filter(({ id }) => !extended.has(id));
  const workers = new Set(verified.flatMap((one) => one?.worker ?? []));
  const seenAt = toMoment(deps.clock.nowMs());
  for (const worker of workers) {
    deps.workers.extended(worker, seenAt);
    deps.versions.isBusy(worker.leaseId);
  }
  const gone = new Set(lost.length > 0 ? await findCancelled(db, workspaceId, lost) : []);
  const cancelled = leases.flatMap(({ id }, index) => (gone.has(verified[index]?.claim.id as JobId) ? id : []));
  if (lost.length === 0 && wait > 0) await untilCancelled(workers, wait * 1_000, signal);
  // If the client is gone, the next call is notified.
  const notified = signal.aborted ? [] : await takeCancelledOf(db, workers);
  return {
    leases: leases.map(({ id }, index) => {
      const jobId = verified[index]?.claim.id;
      const until = jobId && extended.get(jobId);
      return { id, ok: until !== undefined, lease_expires_at: until ?? null };
    }),
    cancelled: [...new Set([...cancelled, ...notified.flat()])],
  };
}

/** Waits until a job of one of these workers is cancelled, or for `ms`. */
async function untilCancelled(workers: ReadonlySet<KnownWorker>, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || [...workers].some(({ cancelled }) => cancelled.size > 0)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  for (const { onCancelled } of workers) onCancelled.add(resolve);
  await promise;
  clearTimeout(timer);
  for (const { onCancelled } of workers) onCancelled.delete(resolve);
}
