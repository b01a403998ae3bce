import { ApproveJob, Job, JobPath, ListApprovals, Page, PendingJob, RejectJob } from "@tidemill/contract";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { AuditLog } from "#audit";
import { type Api, actorOf, JSON_TYPE, jsonText, PAGE_END, pageOf, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { jobKey, type Ruling, readJobId, showJob, showJobId } from "#jobs";
import { cutPage, type EmitEvent, type JsonParts, momentMs, PAGE_RESPONSE_BYTES, type Tenants } from "#kernel";
import type { Waker } from "#lanes";
import { decideJob } from "./decide.ts";
import { listPending, type PendingJobRow } from "./list.ts";

export interface ApprovalRoutes {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly emit: EmitEvent;
  readonly waker: Waker;
}

const { tags, security } = routeDefaults("Approvals");

const showPending = (job: PendingJobRow): JsonParts =>
  showJob(job, job.queue, `,"decide_at":${JSON.stringify(job.decide_at)},"on_timeout":${JSON.stringify(job.on_timeout)}`);

/** Lists and decides jobs that are pending approval. Source: contract §5. */
export function mountApprovals(api: Api, { tenants, audit, emit, waker }: ApprovalRoutes): void {
  api.get(
    "/v1/approvals",
    {
      config: { access: "read", responseBytes: PAGE_RESPONSE_BYTES },
      schema: {
        tags,
        security,
        summary: "List jobs that wait for a decision",
        description: `Returns the jobs in state \`pending_approval\`, of all queues, newest first. ${PAGE_END}`,
        operationId: "listApprovals",
        querystring: ListApprovals,
        response: replies({ 200: Page(PendingJob) }),
      },
    },
    async (request, reply) => {
      const { queue, tag } = request.query;
      const page = readPage(request.query, readJobId);
      const workspaceId = workspaceOf(request);
      const found = await listPending(tenants.of(workspaceId), {
        workspaceId,
        queues: queue?.split(",") ?? null,
        tags: tag?.split(",") ?? null,
        before: page.after,
        limit: page.limit + 1,
      });
      const { records, next } = cutPage(found, page.limit, ({ id }) => id);
      return reply.type(JSON_TYPE).send(
        pageOf(
          records.map((job) => showPending(job)),
          next && showJobId(next),
        ),
      );
    },
  );

  api.post(
    "/v1/queues/:name/jobs/:id/approve",
    {
      config: { access: "write", emptyBody: true },
      schema: {
        tags,
        security,
        summary: "Approve a job",
        description:
          "Lets a job of an approval queue start: it becomes `waiting`, or `delayed` when it is not due yet. A job is decided once: " +
          "`INVALID_STATE` means that it was decided or cancelled before. The decision is recorded on the job and in the audit log.",
        operationId: "approveJob",
        params: JobPath,
        body: ApproveJob,
        response: replies({ 200: Job }, "NOT_FOUND", "INVALID_STATE", "PAYLOAD_TOO_LARGE"),
      },
    },
    (request, reply) => {
      const { by = null, comment = null } = request.body;
      return decide(request, reply, request.params, { decision: "approved", by, comment });
    },
  );

  api.post(
    "/v1/queues/:name/jobs/:id/reject",
    {
      config: { access: "write", emptyBody: true },
      schema: {
        tags,
        security,
        summary: "Reject a job",
        description:
          "Finishes a job of an approval queue as `rejected`, without an attempt. A job is decided once: `INVALID_STATE` means that it " +
          "was decided or cancelled before. The decision is recorded on the job and in the audit log.",
        operationId: "rejectJob",
        params: JobPath,
        body: RejectJob,
        response: replies({ 200: Job }, "NOT_FOUND", "INVALID_STATE", "PAYLOAD_TOO_LARGE"),
      },
    },
    (request, reply) => {
      const { by = null, reason: comment = null } = request.body;
      return decide(request, reply, request.params, { decision: "rejected", by, comment });
    },
  );

  async function decide(
    request: FastifyRequest,
    reply: FastifyReply,
    path: { name: string; id: string },
    ruling: Ruling,
  ): Promise<FastifyReply> {
    const db = tenants.of(workspaceOf(request));
    const key = await jobKey(db, workspaceOf(request), path);
    const job = await decideJob(db, { audit, actorId: actorOf(request), queue: path.name }, key, ruling);
    emit("jobs_decided", { decision: ruling.decision, by: "caller", count: 1 });
    if (job.state === "waiting") waker.wake([key]);
    if (job.state === "delayed") waker.wakeAt(momentMs(job.run_at));
    return reply.type(JSON_TYPE).send(jsonText(showJob(job, path.name)));
  }
}
