import {
  EnqueueBatch,
  EnqueuedBatch,
  EnqueueJob,
  Job,
  JobPath,
  type JobState,
  JobWithLog,
  LIMITS,
  ListJobs,
  Page,
  QueuePath,
} from "@tidemill/contract";
import type { AuditLog } from "#audit";
import { type Api, actorOf, compileArrayOr, nextPage, noContent, principalOf, type RawJson, readPage, replies, workspaceOf } from "#http";
import { type Clock, type Db, invalid, parseMoment, problem, type Tenants, type WorkspaceId } from "#kernel";
import { findQueue } from "#queues";
import { checkPayloadTemplates } from "#secrets";
import { cancelOrRemove } from "./cancel.ts";
import type { Enqueuer, NewJob } from "./enqueue.ts";
import { type JobKey, readJobId, showJob, showJobId } from "./job.ts";
import { listJobs } from "./list.ts";
import { findJob } from "./store.ts";

export interface JobRoutes {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly enqueuer: Pick<Enqueuer, "enqueue">;
  /** Told after a job was cancelled that an attempt was under way for. */
  readonly onCancelled: (key: JobKey, nodeId: number) => void;
}

const tags = ["Jobs"];
const security = [{ workspaceKey: [] }];
const JSON_TYPE = "application/json; charset=utf-8";

/** The job endpoints of the specification, but for retry, which is the engine's (dispatch/routes.ts). */
export function mountJobs(api: Api, { tenants, audit, clock, enqueuer, onCancelled }: JobRoutes): void {
  api.post(
    "/v1/queues/:name/jobs",
    {
      config: { access: "write", rawMember: "payload" },
      schema: {
        tags,
        security,
        summary: "Enqueue a job",
        operationId: "enqueueJob",
        params: QueuePath,
        body: EnqueueJob,
        response: replies({ 201: Job }, "QUOTA_EXCEEDED", "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const { name } = request.params;
      const [job] = await enqueuer.enqueue(principalOf(request), name, [newJob(request.body, "", clock)]);
      if (!job) throw new Error("Enqueue answered no job.");
      return reply.code(201).type(JSON_TYPE).send(showJob(job, name));
    },
  );

  api.post(
    "/v1/queues/:name/jobs/batch",
    {
      bodyLimit: LIMITS.batchBodyBytes,
      config: { access: "write", rawMember: "payload" },
      validatorCompiler: compileArrayOr(EnqueueBatch.anyOf[1], EnqueueBatch.anyOf[0]),
      schema: {
        tags,
        security,
        summary: "Enqueue jobs in bulk: all or none",
        operationId: "enqueueBatch",
        params: QueuePath,
        body: EnqueueBatch,
        response: replies({ 201: EnqueuedBatch }, "QUOTA_EXCEEDED", "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const { name } = request.params;
      const bare = Array.isArray(request.body);
      const sent = (bare ? request.body : (request.body as { jobs: EnqueueJob[] }).jobs) as EnqueueJob[];
      const jobs = await enqueuer.enqueue(
        principalOf(request),
        name,
        sent.map((job, index) => newJob(job, `${bare ? "" : "jobs"}[${index}].`, clock)),
      );
      return reply
        .code(201)
        .type(JSON_TYPE)
        .send(`{"jobs":[${jobs.map((job) => showJob(job, name)).join(",")}]}`);
    },
  );

  api.get(
    "/v1/queues/:name/jobs",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "List jobs",
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
      const queue = await findQueue(db, workspaceId, name);
      if (!queue) throw problem("NOT_FOUND");
      const found = await listJobs(db, {
        workspaceId,
        laneId: queue.id,
        states: (request.query.state?.split(",") ?? null) as JobState[] | null,
        tags: request.query.tag?.split(",") ?? null,
        before: page.after,
        most: page.limit + 1,
      });
      const { rows, nextCursor } = nextPage(found, page.limit, (job) => showJobId(job.id));
      const records = rows.map((job) => showJob(job, name)).join(",");
      return reply.type(JSON_TYPE).send(`{"data":[${records}],"next_cursor":${JSON.stringify(nextCursor)}}`);
    },
  );

  api.get(
    "/v1/queues/:name/jobs/:id",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "A job with its attempts",
        operationId: "getJob",
        params: JobPath,
        response: replies({ 200: JobWithLog }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const db = tenants.of(workspaceOf(request));
      const key = await jobKey(db, workspaceOf(request), request.params);
      const job = await findJob(db, key);
      if (!job) throw problem("NOT_FOUND");
      return reply.type(JSON_TYPE).send(showJob(job, request.params.name, `,"attempts_log":[${job.attempts_log}]`));
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
        operationId: "deleteJob",
        params: JobPath,
        response: replies({ 200: Job, 204: noContent("The finished job is removed.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const db = tenants.of(workspaceOf(request));
      const key = await jobKey(db, workspaceOf(request), request.params);
      const hand = { audit, actorId: actorOf(request), queue: request.params.name };
      const outcome = await cancelOrRemove(db, hand, key);
      if (outcome.kind === "removed") return reply.code(204).send();
      if (outcome.claimedBy !== null) onCancelled(key, outcome.claimedBy);
      return reply.type(JSON_TYPE).send(showJob(outcome.job, request.params.name));
    },
  );
}

/**
 * What names the job of a path.
 *
 * @throws NOT_FOUND when the workspace has no such queue
 */
export async function jobKey(db: Db, workspaceId: WorkspaceId, path: { name: string; id: string }): Promise<JobKey> {
  const queue = await findQueue(db, workspaceId, path.name);
  const id = readJobId(path.id);
  if (!queue || !id) throw problem("NOT_FOUND");
  return { workspaceId, laneId: queue.id, id };
}

/** A checked body as the engine takes it. `at` is the job's place in a batch, for errors. */
function newJob(body: EnqueueJob, at: string, clock: Clock): NewJob {
  const payload = (body.payload as RawJson).text;
  if (Buffer.byteLength(payload) > LIMITS.payloadBytes) {
    throw problem("PAYLOAD_TOO_LARGE", { limit_bytes: LIMITS.payloadBytes, path: `${at}payload` });
  }
  checkPayloadTemplates(payload, `${at}payload`);
  if (body.delay !== undefined && body.run_at !== undefined) throw invalid(`${at}run_at`, "cannot be given together with delay");
  const runAtMs = body.run_at === undefined ? null : parseMoment(body.run_at);
  if (runAtMs !== null && runAtMs > clock.nowMs() + LIMITS.delaySeconds * 1000) {
    throw invalid(`${at}run_at`, `must not be more than ${LIMITS.delaySeconds} seconds ahead`);
  }
  return {
    payload,
    delaySeconds: body.delay ?? 0,
    runAtMs,
    tag: body.tag ?? null,
    priority: body.priority ?? 0,
    concurrencyKey: body.concurrencyKey ?? null,
    attempts: body.attempts ?? null,
    backoffDelayMs: body.backoff?.delay ?? null,
  };
}
