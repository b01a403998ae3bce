import { ClaimJobs, ExtendRequest, ExtendResponse, LIMITS, QueuePath, WorkRequest, WorkResponse } from "@tidemill/contract";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Api, JSON_TYPE, jsonItems, jsonText, principalOf, replies, routeDefaults } from "#http";
import type { ClaimText } from "./build-response.ts";
import { extend } from "./extend.ts";
import { goneSignal } from "./gone-signal.ts";
import { mountHeldJob } from "./job-routes.ts";
import { mountWorkerList } from "./list-routes.ts";
import { undo, type WorkDeps, work } from "./work.ts";

const { tags, security } = routeDefaults("Workers");

/** Mounts what workers call, and the list of workers. Source: contract §7. */
export function mountWork(api: Api, deps: WorkDeps): void {
  api.post(
    "/v1/work",
    {
      bodyLimit: LIMITS.batchBodyBytes,
      config: { access: "worker", rawMember: "result", rawList: "settle", overLimit: "partly" },
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
    (request, reply) => answer(api, deps, request, reply, request.body),
  );

  api.post(
    "/v1/work/extend",
    {
      config: { access: "worker", overLimit: "reports" },
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
        description: "Like `POST /v1/work` without outcomes, for one queue.",
        operationId: "claimJobs",
        params: QueuePath,
        body: ClaimJobs,
        response: replies({ 200: WorkResponse }, "NOT_FOUND", "INVALID_STATE", "PAYLOAD_TOO_LARGE"),
      },
    },
    (request, reply) => answer(api, deps, request, reply, { ...request.body, queues: [request.params.name] }),
  );

  mountHeldJob(api, deps);
  mountWorkerList(api, deps.tenants);
}

/** Responds with jobs. Jobs that the client does not get are released. */
async function answer(api: Api, deps: WorkDeps, request: FastifyRequest, reply: FastifyReply, body: WorkRequest): Promise<FastifyReply> {
  const signal = goneSignal(reply);
  const done = await work(deps, principalOf(request), body, {
    signal,
    authenticateAgain: api.readerOf(request).reauthenticate,
    overLimit: request.overLimit,
    hold: (bytes) => reply.holdBytes?.(bytes),
  });
  if (signal.aborted) void undo(deps, done);
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) void undo(deps, done);
  });
  const parts = [
    `{"settled":${JSON.stringify(done.settled)},"cancelled":${JSON.stringify(done.cancelled)},"jobs":[`,
    ...jsonItems(textsOf(done.jobs)),
    `],"runs":[`,
    ...jsonItems(textsOf(done.runs)),
    `],"hooks":[`,
    ...jsonItems(textsOf(done.hooks)),
    `],"waited_ms":${JSON.stringify(done.waitedMs)}}`,
  ];
  return reply.type(JSON_TYPE).send(jsonText(parts));
}

const textsOf = (given: readonly ClaimText[]) => given.map(({ text }) => text);
