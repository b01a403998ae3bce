import {
  ClaimJobs,
  CompleteJob,
  ExtendRequest,
  ExtendResponse,
  FailJob,
  HeartbeatJob,
  JobPath,
  LIMITS,
  ListWorkers,
  Page,
  QueuePath,
  type SettleJob,
  WorkerRecord,
  WorkRequest,
  WorkResponse,
} from "@tidemill/contract";
import type { FastifyReply } from "fastify";
import {
  type Api,
  jsonItems,
  jsonText,
  nextPage,
  noContent,
  type Principal,
  pageOf,
  principalOf,
  readPage,
  replies,
  routeDefaults,
  workspaceOf,
} from "#http";
import { findJob, type JobKey, jobKey, jobNotFound } from "#jobs";
import { problem } from "#kernel";
import { readLeaseToken } from "./lease-token.ts";
import { checkMayServe } from "./may-serve.ts";
import { settleJobs } from "./settle-jobs.ts";
import { listWorkers } from "./store.ts";
import { extend, undo, type WorkDeps, type WorkDone, work } from "./work.ts";

const { tags, security } = routeDefaults("Workers");
const JSON_TYPE = "application/json; charset=utf-8";

/** Mounts what workers call, and the list of workers. Source: contract §7. */
export function mountWork(api: Api, deps: WorkDeps): void {
  api.post(
    "/v1/work",
    {
      bodyLimit: LIMITS.batchBodyBytes,
      config: { access: "worker", rawMember: "result", rawList: "settle" },
      schema: {
        tags,
        security,
        summary: "Settle jobs and take more",
        description:
          "Stores the outcomes of jobs that the worker took earlier, and takes jobs of queues without `callback_url`. Without a job to take it " +
          "waits for one, unless it has outcomes to report. Each outcome is stored or refused by itself: `settled` says which.",
        operationId: "work",
        body: WorkRequest,
        response: replies({ 200: WorkResponse }, "NOT_FOUND", "INVALID_STATE", "PAYLOAD_TOO_LARGE"),
      },
    },
    (request, reply) => answer(deps, reply, (signal) => work(deps, principalOf(request), request.body, signal)),
  );

  api.post(
    "/v1/work/extend",
    {
      config: { access: "worker" },
      schema: {
        tags,
        security,
        summary: "Extend leases",
        description:
          "Lets the worker hold jobs for longer. A job whose lease is lost is reported as such: its outcome would be refused. With `wait`, " +
          "the response comes as soon as one of the worker's jobs is cancelled.",
        operationId: "extendLeases",
        body: ExtendRequest,
        response: replies({ 200: ExtendResponse }, "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => extend(deps, principalOf(request), request.body, goneSignal(reply)),
  );

  api.post(
    "/v1/queues/:name/jobs/claim",
    {
      config: { access: "worker" },
      schema: {
        tags,
        security,
        summary: "Take jobs of a queue",
        description: "As `POST /v1/work` without outcomes, for one queue.",
        operationId: "claimJobs",
        params: QueuePath,
        body: ClaimJobs,
        response: replies({ 200: WorkResponse }, "NOT_FOUND", "INVALID_STATE", "PAYLOAD_TOO_LARGE"),
      },
    },
    (request, reply) => {
      const asked = { ...request.body, queues: [request.params.name] };
      return answer(deps, reply, (signal) => work(deps, principalOf(request), asked, signal));
    },
  );

  mountSettles(api, deps);
  mountList(api, deps);
}

/** The endpoints that settle one job. */
function mountSettles(api: Api, deps: WorkDeps): void {
  /** @throws FORBIDDEN or NOT_FOUND for the queue, NOT_FOUND for the job */
  const keyOf = async (path: JobPath, principal: Principal): Promise<JobKey> => {
    checkMayServe(principal, path.name);
    const { workspaceId } = principal;
    const db = deps.tenants.of(workspaceId);
    const key = await jobKey(db, workspaceId, path);
    if (!(await findJob(db, key))) throw jobNotFound(key.id, path.name);
    return key;
  };
  const settle = async (principal: Principal, path: JobPath, job: Omit<SettleJob, "id">): Promise<void> => {
    const { workspaceId } = principal;
    await keyOf(path, principal);
    const isNamed = (queue: string) => queue === path.name;
    const [settled] = await settleJobs(deps, deps.tenants.of(workspaceId), workspaceId, [{ ...job, id: path.id }], isNamed);
    if (settled?.code === "PAYLOAD_TOO_LARGE") throw problem(settled.code, { limit_bytes: LIMITS.resultBytes, path: "result" });
    if (!settled?.ok) throw problem("LEASE_LOST");
  };
  const common = { tags, security, params: JobPath };

  api.post(
    "/v1/queues/:name/jobs/:id/complete",
    {
      config: { access: "worker", rawMember: "result" },
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
      config: { access: "worker" },
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
      config: { access: "worker" },
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

function mountList(api: Api, { tenants }: Pick<WorkDeps, "tenants">): void {
  api.get(
    "/v1/workers",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "List workers",
        description: "Returns the workers that called in the last 15 minutes, by name.",
        operationId: "listWorkers",
        querystring: ListWorkers,
        response: replies({ 200: Page(WorkerRecord) }),
      },
    },
    async (request, reply) => {
      const page = readPage(request.query, nameIn);
      const workspaceId = workspaceOf(request);
      const found = await listWorkers(tenants.of(workspaceId), workspaceId, page.after, page.limit + 1);
      const { rows, nextCursor } = nextPage(found, page.limit, ({ name }) => cursorOf(name));
      return reply.type(JSON_TYPE).send(
        pageOf(
          rows.map((row) => JSON.stringify(row)),
          nextCursor,
        ),
      );
    },
  );
}

const CURSOR = "worker ";

const cursorOf = (name: string): string => Buffer.from(CURSOR + name).toString("base64url");

/** The name in a cursor; null for a text that is no cursor of this list. */
function nameIn(cursor: string): string | null {
  const text = Buffer.from(cursor, "base64url").toString();
  return text.startsWith(CURSOR) && cursorOf(text.slice(CURSOR.length)) === cursor ? text.slice(CURSOR.length) : null;
}

/** Answers with jobs. Those that the client does not get are given back. */
async function answer(deps: WorkDeps, reply: FastifyReply, run: (signal: AbortSignal) => Promise<WorkDone>): Promise<FastifyReply> {
  const gone = goneSignal(reply);
  const done = await run(gone);
  if (gone.aborted) void undo(deps, done);
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) void undo(deps, done);
  });
  const parts = [
    `{"settled":${JSON.stringify(done.settled)},"cancelled":${JSON.stringify(done.cancelled)},"jobs":[`,
    ...jsonItems(done.texts),
    `],"runs":[`,
    ...jsonItems(done.runTexts),
    `],"hooks":[`,
    ...jsonItems(done.hookTexts),
    "]}",
  ];
  return reply.type(JSON_TYPE).send(jsonText(parts));
}

/** Aborted when the connection ends before the response. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  return gone.signal;
}
