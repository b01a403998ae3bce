import { DeadLetterFilter, Job, ListDeadLetters, Page, Purged, QueuePath, Retried, RetryAll } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import type { AuditLog } from "#audit";
import { type Api, actorOf, JSON_TYPE, PAGE_END, pageOf, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { type DeadLetterQuery, readJobId, showJob, showJobId } from "#jobs";
import { cutPage, PAGE_RESPONSE_BYTES, type Tenants, type WorkspaceId } from "#kernel";
import { findLane, type LaneId, queueNotFound, type Waker } from "#lanes";
import { showWorkspaceId } from "#workspaces";
import { mountGroups } from "./group-routes.ts";
import { type AuditedRequest, purgeDeadLetters, retryDeadLetters } from "./retry.ts";
import { listFailed } from "./store.ts";

export interface DeadLetterRoutes {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly waker: Waker;
}

const { tags, security } = routeDefaults("Dead letters");

/** The dead-letter queue: failed jobs of one queue or of all. Source: contract §3. */
export function mountDeadLetters(api: Api, { tenants, audit, waker }: DeadLetterRoutes): void {
  mountGroups(api, tenants);

  api.post(
    "/v1/queues/:name/retry-all",
    {
      config: { access: "write", emptyBody: true },
      schema: {
        tags: ["Queues"],
        security,
        summary: "Retry the failed jobs of a queue",
        description:
          "Moves the failed jobs that match every given filter back to `waiting`, with a fresh set of attempts. Without a body, these are all " +
          "failed jobs of the queue. Jobs that fail again during the request are not retried twice.",
        operationId: "retryAll",
        params: QueuePath,
        body: RetryAll,
        response: replies({ 200: Retried }, "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const { name } = request.params;
      const queue = await findOrThrow(workspaceId, name);
      const audited = { audit, actorId: actorOf(request), resourceType: "queue", resourceId: name, input: request.body } as const;
      return retryAndWake(audited, { workspaceId, laneId: queue.id, filter: request.body });
    },
  );

  api.get(
    "/v1/dlq",
    {
      config: { access: "read", responseBytes: PAGE_RESPONSE_BYTES },
      schema: {
        tags,
        security,
        summary: "List failed jobs of all queues",
        description:
          "Returns the jobs of the dead-letter queue: those that have failed for good, of all queues, newest first. They stay until they " +
          `are retried, removed or purged. ${PAGE_END}`,
        operationId: "listDeadLetters",
        querystring: ListDeadLetters,
        response: replies({ 200: Page(Job) }),
      },
    },
    async (request, reply) => {
      const { queue, tag, error, fingerprint = null } = request.query;
      const page = readPage(request.query, readJobId);
      const workspaceId = workspaceOf(request);
      const found = await listFailed(tenants.of(workspaceId), {
        workspaceId,
        queues: queue?.split(",") ?? null,
        tags: tag?.split(",") ?? null,
        errors: error?.split(",") ?? null,
        fingerprint,
        before: page.after,
        limit: page.limit + 1,
      });
      const { records, next } = cutPage(found, page.limit, ({ id }) => id);
      return reply.type(JSON_TYPE).send(
        pageOf(
          records.map((job) => showJob(job, job.queue)),
          next && showJobId(next),
        ),
      );
    },
  );

  api.post(
    "/v1/dlq/retry",
    {
      config: { access: "write", emptyBody: true },
      schema: {
        tags,
        security,
        summary: "Retry failed jobs of all queues",
        description:
          "Moves the failed jobs that match every given filter back to `waiting`, with a fresh set of attempts. Without a body, these are " +
          "all failed jobs of the workspace. `NOT_FOUND` means that there is no queue of the given name.",
        operationId: "retryDeadLetters",
        body: DeadLetterFilter,
        response: replies({ 200: Retried }, "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => retryAndWake(ofAll(request, request.body), await queryOf(workspaceOf(request), request.body)),
  );

  api.post(
    "/v1/dlq/purge",
    {
      config: { access: "write", confirm: true, emptyBody: true },
      schema: {
        tags,
        security,
        summary: "Remove failed jobs of all queues",
        description:
          "Removes the failed jobs that match every given filter. Without a body, these are all failed jobs of the workspace. This cannot be " +
          "undone. `NOT_FOUND` means that there is no queue of the given name.",
        operationId: "purgeDeadLetters",
        body: DeadLetterFilter,
        response: replies({ 200: Purged }, "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const query = await queryOf(workspaceId, request.body);
      return { purged: await purgeDeadLetters(tenants.of(workspaceId), ofAll(request, request.body), query) };
    },
  );

  /** A request that acts on the dead-letter queue of the whole workspace. */
  const ofAll = (request: FastifyRequest, filter: DeadLetterFilter): AuditedRequest => ({
    audit,
    actorId: actorOf(request),
    resourceType: "dlq",
    resourceId: showWorkspaceId(workspaceOf(request)),
    input: filter,
  });

  async function retryAndWake(audited: AuditedRequest, query: DeadLetterQuery): Promise<{ retried: number }> {
    return { retried: await retryDeadLetters(tenants.of(query.workspaceId), audited, query, (lanes) => waker.wake(lanes)) };
  }

  /** @throws NOT_FOUND */
  async function findOrThrow(workspaceId: WorkspaceId, name: string): Promise<{ id: LaneId }> {
    const db = tenants.of(workspaceId);
    const queue = await findLane(db, workspaceId, "queue", name);
    if (!queue) throw await queueNotFound(db, workspaceId, name);
    return queue;
  }

  async function queryOf(workspaceId: WorkspaceId, { queue, ...filter }: DeadLetterFilter): Promise<DeadLetterQuery> {
    const found = queue === undefined ? null : await findOrThrow(workspaceId, queue);
    return { workspaceId, laneId: found?.id ?? null, filter };
  }
}
