import { DeadLetterFilter, Job, JobPath, ListDeadLetters, Page, Purged, QueuePath, Retried, RetryAll } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import type { AuditLog } from "#audit";
import { type Api, actorOf, nextPage, readPage, replies, workspaceOf } from "#http";
import { jobKey, readJobId, retryJob, showJob, showJobId } from "#jobs";
import { problem, type Tenants, type WorkspaceId } from "#kernel";
import { findQueue } from "#queues";
import { showWorkspaceId } from "#workspaces";
import type { LaneKey } from "./claim.ts";
import { type Asked, type DeadLetterQuery, purgeDeadLetters, retryDeadLetters } from "./dead-letter.ts";
import { listFailed } from "./dead-letter-store.ts";
import { mountExplain } from "./explain-route.ts";

export interface DispatchRoutes {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  /** Told in which lanes jobs wait again. */
  readonly onWaiting: (lanes: LaneKey[]) => void;
}

const security = [{ workspaceKey: [] }];
const JSON_TYPE = "application/json; charset=utf-8";

/** Retry by hand, why a job is not running, and the workspace's dead-letter queue. Source: contract §3, §4. */
export function mountDispatch(api: Api, { tenants, audit, onWaiting }: DispatchRoutes): void {
  mountExplain(api, tenants);

  api.post(
    "/v1/queues/:name/jobs/:id/retry",
    {
      config: { access: "write" },
      schema: {
        tags: ["Jobs"],
        security,
        summary: "Retry a job",
        description:
          "Moves a failed, cancelled or rejected job back to `waiting`, with a fresh set of attempts. The numbers of its attempts go on. " +
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
      onWaiting([key]);
      return reply.type(JSON_TYPE).send(showJob(job, request.params.name));
    },
  );

  api.post(
    "/v1/queues/:name/retry-all",
    {
      config: { access: "write", emptyBody: true },
      schema: {
        tags: ["Queues"],
        security,
        summary: "Retry the failed jobs of a queue",
        description:
          "Moves the failed jobs that match every given filter back to `waiting`, with a fresh set of attempts. Without a body it is all " +
          "failed jobs of the queue. Jobs that fail again during the request are not retried twice.",
        operationId: "retryAll",
        params: QueuePath,
        body: RetryAll,
        response: replies({ 200: Retried }, "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const queue = await findQueue(tenants.of(workspaceId), workspaceId, request.params.name);
      if (!queue) throw problem("NOT_FOUND");
      const asked = { audit, actorId: actorOf(request), resourceType: "queue", resourceId: queue.name, input: request.body } as const;
      return retryAndWake(asked, { workspaceId, laneId: queue.id, filter: request.body });
    },
  );

  api.get(
    "/v1/dlq",
    {
      config: { access: "read" },
      schema: {
        tags: ["Dead letters"],
        security,
        summary: "List failed jobs of all queues",
        description:
          "Returns the jobs of the dead-letter queue: those that have failed for good, of all queues, newest first. They stay until they " +
          "are retried, removed or purged.",
        operationId: "listDeadLetters",
        querystring: ListDeadLetters,
        response: replies({ 200: Page(Job) }),
      },
    },
    async (request, reply) => {
      const { queue, tag, error } = request.query;
      const page = readPage(request.query, readJobId);
      const workspaceId = workspaceOf(request);
      const found = await listFailed(tenants.of(workspaceId), workspaceId, {
        queues: queue?.split(",") ?? null,
        tags: tag?.split(",") ?? null,
        errors: error?.split(",") ?? null,
        before: page.after,
        most: page.limit + 1,
      });
      const { rows, nextCursor } = nextPage(found, page.limit, (job) => showJobId(job.id));
      const records = rows.map((job) => showJob(job, job.queue)).join(",");
      return reply.type(JSON_TYPE).send(`{"data":[${records}],"next_cursor":${JSON.stringify(nextCursor)}}`);
    },
  );

  api.post(
    "/v1/dlq/retry",
    {
      config: { access: "write", emptyBody: true },
      schema: {
        tags: ["Dead letters"],
        security,
        summary: "Retry failed jobs of all queues",
        description:
          "Moves the failed jobs that match every given filter back to `waiting`, with a fresh set of attempts. Without a body it is " +
          "every failed job of the workspace. `NOT_FOUND` means that there is no queue of the given name.",
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
      config: { access: "write", emptyBody: true },
      schema: {
        tags: ["Dead letters"],
        security,
        summary: "Remove failed jobs of all queues",
        description:
          "Removes the failed jobs that match every given filter. Without a body it is every failed job of the workspace. This cannot be " +
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

  /** What is asked of the workspace's dead-letter queue. */
  const ofAll = (request: FastifyRequest, filter: DeadLetterFilter): Asked => ({
    audit,
    actorId: actorOf(request),
    resourceType: "dlq",
    resourceId: showWorkspaceId(workspaceOf(request)),
    input: filter,
  });

  async function retryAndWake(asked: Asked, query: DeadLetterQuery): Promise<{ retried: number }> {
    const { retried, lanes } = await retryDeadLetters(tenants.of(query.workspaceId), asked, query);
    onWaiting(lanes);
    return { retried };
  }

  async function queryOf(workspaceId: WorkspaceId, { queue, ...filter }: DeadLetterFilter): Promise<DeadLetterQuery> {
    const found = queue === undefined ? null : await findQueue(tenants.of(workspaceId), workspaceId, queue);
    if (queue !== undefined && !found) throw problem("NOT_FOUND");
    return { workspaceId, laneId: found?.id ?? null, filter };
  }
}
