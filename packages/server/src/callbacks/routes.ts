import { JobPath, SignedCallback } from "@tidemill/contract";
import { requestActor } from "#audit";
import { type Api, replies, routeDefaults, workspaceOf } from "#http";
import { jobKey } from "#jobs";
import type { Tenants } from "#kernel";
import { type ReplayDeps, replayJob } from "./replay.ts";

export interface CallbackRoutes extends ReplayDeps {
  readonly tenants: Tenants;
}

const { tags, security } = routeDefaults("Jobs");

/** Mounts the endpoint that repeats a job's callback for a developer. */
export function mountCallbacks(api: Api, { tenants, ...deps }: CallbackRoutes): void {
  api.post(
    "/v1/queues/:name/jobs/:id/replay",
    {
      config: { access: "write" },
      schema: {
        tags,
        security,
        summary: "Get a job as a signed callback",
        description:
          "Returns the request that the handler of the queue gets for this job, signed with the queue's callback secret, to send it to a " +
          "handler under development. Templates are not replaced, so that it contains no secret. Nothing is sent, the job does not " +
          "change, and an audit event is recorded. `INVALID_STATE` means that the queue has no callback secret.",
        operationId: "replayJob",
        params: JobPath,
        response: replies({ 200: SignedCallback }, "NOT_FOUND", "INVALID_STATE"),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const key = await jobKey(db, workspaceId, request.params);
      return replayJob(db, deps, requestActor(request), key, request.params.name);
    },
  );
}
