import type { AttemptResult, Engine } from "#engine";
import { type Claim, withdrawTaken } from "#jobs";
import { type EmitEvent, type JobId, type Tenants, tolerate } from "#kernel";
import type { HeldJobs } from "./held-jobs.ts";
import type { KnownWorker } from "./known-worker.ts";

export interface ReleaseDeps {
  readonly finish: Engine["finishForWorker"];
  readonly held: HeldJobs;
  readonly tenants: Tenants;
  readonly emit: EmitEvent;
}

/** A claim for a worker, and the name of the call that took it. */
export interface CalledClaim extends Claim {
  readonly request: string | null;
}

/**
 * Releases jobs that their worker did not get. No attempt is used. A hook fires once: if a repetition of the call may have got it, it stays
 * with the worker, at most until its lease ends.
 */
export async function releaseJobs(deps: ReleaseDeps, worker: KnownWorker, claims: readonly CalledClaim[]): Promise<void> {
  const hooks = claims.filter(({ kind }) => kind === "hook");
  const undelivered = new Set(hooks.length > 0 ? await withdrawHooks(deps, worker, hooks) : []);
  const back = claims.filter(({ id, kind }) => kind !== "hook" || undelivered.has(id));
  await endClaims(deps, worker, back, { kind: "withdrawn" });
  if (back.length > 0) deps.emit("worker_jobs_released", { worker: worker.name, count: back.length });
}

/** The hooks among these claims that no response has delivered or will deliver. */
const withdrawHooks = (
  { tenants, emit }: Pick<ReleaseDeps, "tenants" | "emit">,
  { workspaceId }: KnownWorker,
  hooks: readonly CalledClaim[],
): Promise<readonly JobId[]> =>
  withdrawTaken(tenants.of(workspaceId), workspaceId, hooks).catch((error: unknown) => {
    emit("worker_release_failed", { error });
    return [];
  });

/** Ends attempts whose jobs their worker does not get. */
export async function endClaims(
  { finish, held, emit }: Omit<ReleaseDeps, "tenants">,
  worker: KnownWorker,
  claims: readonly Claim[],
  result: AttemptResult,
): Promise<void> {
  for (const { id } of claims) held.delete(id);
  await tolerate(
    () => finish(claims.map((claim) => ({ claim, result, worker: worker.name }))),
    (error) => emit("worker_release_failed", { error }),
  );
}
