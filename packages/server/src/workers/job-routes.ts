import { CompleteJob, ExtendResponse, FailJob, HeartbeatJob, JobPath, LIMITS, type SettleJob } from "@tidemill/contract";
import { type Api, checkMayServe, noContent, type Principal, principalOf, replies, routeDefaults } from "#http";
import { findJob, type JobKey, jobKey, jobNotFound } from "#jobs";
import { problem, unavailable } from "#kernel";
import { extend } from "./extend.ts";
import { goneSignal } from "./gone-signal.ts";
import { readLeaseToken } from "./lease-token.ts";
import type { MayServe } from "./served-claims.ts";
import { settleJobs } from "./settle-jobs.ts";
import type { WorkDeps } from "./work.ts";

const { tags, security } = routeDefaults("Workers");

/** Mounts the endpoints for one job of a worker. Source: contract §7. */
export function mountHeldJob(api: Api, deps: WorkDeps): void {
  /** @throws FORBIDDEN or NOT_FOUND for the queue, NOT_FOUND for the job */
  const keyOf = async (path: JobPath, principal: Principal): Promise<JobKey> => {
    checkMayServe(principal, "queue", path.name);
    const { workspaceId } = principal;
    const db = deps.tenants.of(workspaceId);
    const key = await jobKey(db, workspaceId, path);
    if (!(await findJob(db, key))) throw jobNotFound(key.id, path.name);
    return key;
  };
  const settle = async (principal: Principal, path: JobPath, job: Omit<SettleJob, "id">): Promise<void> => {
    const { workspaceId } = principal;
    await keyOf(path, principal);
    const isNamed: MayServe = ({ kind }, queue) => kind === "queue" && queue === path.name;
    const [settled] = await settleJobs(deps, deps.tenants.of(workspaceId), workspaceId, [{ ...job, id: path.id }], isNamed);
    if (settled?.code === "PAYLOAD_TOO_LARGE") throw problem(settled.code, { limit_bytes: LIMITS.resultBytes, path: "result" });
    if (settled?.code === "UNAVAILABLE") throw unavailable(settled.message ?? undefined);
    if (!settled?.ok) throw problem("LEASE_LOST");
  };
  const common = { tags, security, params: JobPath };

  api.post(
    "/v1/queues/:name/jobs/:id/complete",
    {
      config: { access: "worker", rawMember: "result", overLimit: "reports" },
      schema: {
        ...common,
        summary: "Complete a job",
        description: "Stores that the attempt succeeded, with its result.",
        operationId: "completeJob",
        body: CompleteJob,
        response: replies({ 204: noContent("The job is completed.") }, "NOT_FOUND", "LEASE_LOST", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      await settle(principalOf(request), request.params, { outcome: "completed", ...request.body });
      return reply.code(204).send();
    },
  );

  api.post(
    "/v1/queues/:name/jobs/:id/fail",
    {
      config: { access: "worker", overLimit: "reports" },
      schema: {
        ...common,
        summary: "Report a failed attempt",
        description:
          "Stores that the attempt failed. The job is tried again as its backoff says, unless `retry` is false or no attempt is left.",
        operationId: "failJob",
        body: FailJob,
        response: replies({ 204: noContent("The failure is stored.") }, "NOT_FOUND", "LEASE_LOST", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      await settle(principalOf(request), request.params, { outcome: "failed", ...request.body });
      return reply.code(204).send();
    },
  );

  api.post(
    "/v1/queues/:name/jobs/:id/heartbeat",
    {
      config: { access: "worker", overLimit: "reports" },
      schema: {
        ...common,
        summary: "Extend a job's lease",
        description: "Lets the worker hold the job for longer.",
        operationId: "heartbeatJob",
        body: HeartbeatJob,
        response: replies({ 200: ExtendResponse }, "NOT_FOUND", "LEASE_LOST", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const { lease_token, ...rest } = request.body;
      const principal = principalOf(request);
      const { laneId } = await keyOf(request.params, principal);
      const leases = readLeaseToken(lease_token)?.laneId === laneId ? [{ id: request.params.id, lease_token }] : [];
      const extended = await extend(deps, principal, { ...rest, leases }, goneSignal(reply));
      if (!extended.leases[0]?.ok) throw problem("LEASE_LOST");
      return extended;
    },
  );
}
