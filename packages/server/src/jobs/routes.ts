import { Job, JobPath, type JobState, JobWithLog, ListJobs, Page, QueuePath } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import { type Api, actorOf, JSON_TYPE, jsonText, noContent, PAGE_END, pageOf, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { type Clock, cutPage, type Db, notFound, PAGE_RESPONSE_BYTES, type Shares, type Tenants, type WorkspaceId } from "#kernel";
import { type Aborter, findLane, queueNotFound, type Waker } from "#lanes";
import { cancelOrRemove } from "./cancel.ts";
import type { Enqueuer } from "./enqueue.ts";
import { mountEnqueue } from "./enqueue-routes.ts";
import { type JobKey, jobNotFound, readJobId, showJob, showJobId } from "./job.ts";
import { listJobs } from "./list.ts";
import { retryJob } from "./retry.ts";
import { mountSearch } from "./search-routes.ts";
import { findJob } from "./store/jobs.ts";

export interface JobRoutes {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly enqueuer: Pick<Enqueuer, "enqueue">;
  readonly shares: Pick<Shares, "loopTime">;
  readonly waker: Waker;
  readonly aborter: Aborter;
}

const { tags, security } = routeDefaults("Jobs");

/** Mounts the job endpoints of the specification. */
export function mountJobs(api: Api, { tenants, audit, clock, enqueuer, shares, waker, aborter }: JobRoutes): void {
  mountEnqueue(api, { clock, tenants, enqueuer, shares });
  mountSearch(api, tenants);

  api.get(
    "/v1/queues/:name/jobs",
    {
      config: { access: "read", responseBytes: PAGE_RESPONSE_BYTES },
      schema: {
        tags,
        security,
        summary: "List the jobs of a queue",
        description: `Returns the jobs of a queue, newest first. Filters that are given together must all match. ${PAGE_END}`,
        operationId: "listJobs",
        params: QueuePath,
        querystring: ListJobs,
        response: replies({ 200: Page(Job) }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const { name } = request.params;
      const workspaceId = workspaceOf(request);
      const page = readPage(request.query, readJobId);
      const db = tenants.of(workspaceId);
      const queue = await findLane(db, workspaceId, "queue", name);
      if (!queue) throw await queueNotFound(db, workspaceId, name);
      const found = await listJobs(db, {
        workspaceId,
        laneId: queue.id,
        states: (request.query.state?.split(",") ?? null) as JobState[] | null,
        tags: request.query.tag?.split(",") ?? null,
        before: page.after,
        limit: page.limit + 1,
      });
      const { records, next } = cutPage(found, page.limit, ({ id }) => id);
      return reply.type(JSON_TYPE).send(
        pageOf(
          records.map((job) => showJob(job, name)),
          next && showJobId(next),
        ),
      );
    },
  );

  api.get(
    "/v1/queues/:name/jobs/:id",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Get a job with its attempts",
        description:
          "Returns a job with one entry for each attempt that has ended. Finished jobs are available until the plan's retention has " +
          "passed.",
        operationId: "getJob",
        params: JobPath,
        response: replies({ 200: JobWithLog }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const db = tenants.of(workspaceOf(request));
      const key = await jobKey(db, workspaceOf(request), request.params);
      const job = await findJob(db, key);
      if (!job) throw jobNotFound(key.id, request.params.name);
      return reply.type(JSON_TYPE).send(jsonText(showJob(job, request.params.name, `,"attempts_log":[${job.attempts_log}]`)));
    },
  );

  api.delete(
    "/v1/queues/:name/jobs/:id",
    {
      config: { access: "write" },
      schema: {
        tags,
        security,
        summary: "Cancel a job, or remove a finished one",
        description:
          "A job that has not finished is cancelled and returned with 200. A running attempt is aborted if possible, and its outcome no " +
          "longer counts. A job that has finished is removed, with 204.",
        operationId: "deleteJob",
        params: JobPath,
        response: replies({ 200: Job, 204: noContent("The finished job is removed.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const db = tenants.of(workspaceOf(request));
      const key = await jobKey(db, workspaceOf(request), request.params);
      const actor = { audit, actorId: actorOf(request), queue: request.params.name };
      const outcome = await cancelOrRemove(db, actor, key);
      if (outcome.kind === "removed") return reply.code(204).send();
      if (outcome.claimedBy !== null) aborter.abortJob(key.id, outcome.claimedBy);
      // The next job with the same concurrency key, or of a queue with a limit, may start.
      if (outcome.job.concurrency_key !== null || outcome.claimedBy !== null) waker.wake([key]);
      return reply.type(JSON_TYPE).send(jsonText(showJob(outcome.job, request.params.name)));
    },
  );

  api.post(
    "/v1/queues/:name/jobs/:id/retry",
    {
      config: { access: "write" },
      schema: {
        tags,
        security,
        summary: "Retry a job",
        description:
          "Moves a failed, cancelled or rejected job back to `waiting`, with a fresh set of attempts. Its attempts keep counting up. " +
          "`INVALID_STATE` means that the job is in another state; `details` names the accepted ones.",
        operationId: "retryJob",
        params: JobPath,
        response: replies({ 200: Job }, "NOT_FOUND", "INVALID_STATE"),
      },
    },
    async (request, reply) => {
      const db = tenants.of(workspaceOf(request));
      const key = await jobKey(db, workspaceOf(request), request.params);
      const job = await retryJob(db, { audit, actorId: actorOf(request), queue: request.params.name }, key);
      waker.wake([key]);
      return reply.type(JSON_TYPE).send(jsonText(showJob(job, request.params.name)));
    },
  );
}

/**
 * The key of the job in a path. Whether the job exists is not checked.
 *
 * @throws NOT_FOUND when the workspace has no such queue, or the id is not a job id
 */
export async function jobKey(db: Db, workspaceId: WorkspaceId, path: { name: string; id: string }): Promise<JobKey> {
  const queue = await findLane(db, workspaceId, "queue", path.name);
  if (!queue) throw await queueNotFound(db, workspaceId, path.name);
  const id = readJobId(path.id);
  if (!id) throw notFound({ resource: "job", id: path.id, queue: path.name });
  return { workspaceId, laneId: queue.id, id };
}
