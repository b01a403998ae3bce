import {
  DuplicateBatch,
  DuplicateJob,
  EnqueueBatch,
  EnqueueBatchHeaders,
  EnqueuedBatch,
  EnqueueHeaders,
  EnqueueJob,
  Job,
  LIMITS,
  QueuePath,
} from "@tidemill/contract";
import {
  type Api,
  compileArrayOr,
  idempotencyKeyOf,
  JSON_TYPE,
  jsonItems,
  jsonText,
  KEY_HEADER,
  keyHeaderOf,
  principalOf,
  type RawJson,
  replies,
  routeDefaults,
  runForRequest,
} from "#http";
import { type Clock, invalid, type JsonParts, parseMoment, payloadTooLarge, type Shares, type SlicedWork, type Tenants } from "#kernel";
import { queueNotFound } from "#lanes";
import { checkPayloadTemplates } from "#vault";
import type { EnqueuedJob, Enqueuer, Tenant } from "./enqueue.ts";
import { fingerprintOf, fingerprintOfBatch } from "./fingerprint.ts";
import { showJob } from "./job.ts";
import type { Idempotency, NewJob } from "./new-job.ts";
import { type Trace, traceOf } from "./trace.ts";

const { tags, security } = routeDefaults("Jobs");
interface EnqueueRoutes {
  readonly clock: Clock;
  readonly tenants: Tenants;
  readonly enqueuer: Pick<Enqueuer, "enqueue">;
  readonly shares: Pick<Shares, "loopTime">;
}

/** Mounts the routes that enqueue one job or a batch. */
export function mountEnqueue(api: Api, { clock, tenants, enqueuer, shares }: EnqueueRoutes): void {
  /** Looks the queue up only to report that it does not exist: the insert finds it by name. */
  const refuse = async ({ workspaceId }: Tenant, queue: string): Promise<never> => {
    throw await queueNotFound(tenants.of(workspaceId), workspaceId, queue);
  };

  api.post(
    "/v1/queues/:name/jobs",
    {
      config: { access: "write", rawMember: "payload" },
      schema: {
        tags,
        security,
        summary: "Enqueue a job",
        description:
          "Stores a job and returns it with 201; from then on it is not lost. A request with a known idempotency key stores nothing and " +
          "returns the earlier job with 200. `IDEMPOTENCY_MISMATCH` means that the key was used for a different request, " +
          "`QUOTA_EXCEEDED` that the month's executions are used up.",
        operationId: "enqueueJob",
        params: QueuePath,
        headers: EnqueueHeaders,
        body: EnqueueJob,
        response: replies({ 200: DuplicateJob, 201: Job }, "QUOTA_EXCEEDED", "NOT_FOUND", "PAYLOAD_TOO_LARGE", "IDEMPOTENCY_MISMATCH"),
      },
    },
    async (request, reply) => {
      const { name } = request.params;
      const idempotencyKey = idempotencyKeyOf(request, request.body.idempotencyKey);
      const sent = idempotencyKey === undefined ? request.body : { ...request.body, idempotencyKey };
      const principal = principalOf(request);
      const { length } = (sent.payload as RawJson).text;
      const work = newJob(sent, "", clock, traceOf(request.headers));
      const made = runForRequest(shares.loopTime, request, principal.workspaceId, length, work);
      const newJobs = [made instanceof Promise ? await made : made];
      const [job] = (await enqueuer.enqueue(principal, name, newJobs)) ?? (await refuse(principal, name));
      if (!job) throw new Error("The enqueuer returned no job.");
      return reply
        .code(job.duplicate ? 200 : 201)
        .type(JSON_TYPE)
        .send(jsonText(showEnqueued(job, name)));
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
        summary: "Enqueue several jobs",
        description:
          "Stores 1 to 1,000 jobs, all of them or none, and returns them in the order sent. Jobs with a known idempotency key are " +
          "returned as they are now, and so are all jobs of a batch with a known key. The status is 200 when every job was known before, " +
          "otherwise 201. After an error, nothing is stored.",
        operationId: "enqueueBatch",
        params: QueuePath,
        headers: EnqueueBatchHeaders,
        body: EnqueueBatch,
        response: replies(
          { 200: DuplicateBatch, 201: EnqueuedBatch },
          "QUOTA_EXCEEDED",
          "NOT_FOUND",
          "PAYLOAD_TOO_LARGE",
          "IDEMPOTENCY_MISMATCH",
        ),
      },
    },
    async (request, reply) => {
      const { name } = request.params;
      const key = keyHeaderOf(request);
      const bare = Array.isArray(request.body);
      const sent = (bare ? request.body : (request.body as { jobs: EnqueueJob[] }).jobs) as EnqueueJob[];
      const principal = principalOf(request);
      const characters = Number(request.headers["content-length"] ?? LIMITS.batchBodyBytes);
      const work = newBatch(sent, key, bare ? "" : "jobs", clock, traceOf(request.headers));
      const { newJobs, batch } = await runForRequest(shares.loopTime, request, principal.workspaceId, characters, work);
      const jobs = (await enqueuer.enqueue(principal, name, newJobs, batch)) ?? (await refuse(principal, name));
      return reply
        .code(jobs.every(({ duplicate }) => duplicate) ? 200 : 201)
        .type(JSON_TYPE)
        .send(jsonText([`{"jobs":[`, ...jsonItems(jobs.map((job) => showEnqueued(job, name))), "]}"]));
    },
  );
}

const showEnqueued = (job: EnqueuedJob, queue: string): JsonParts => showJob(job, queue, job.duplicate ? ',"duplicate":true' : "");

/** @param key idempotency key of the whole batch */
function* newBatch(
  sent: readonly EnqueueJob[],
  key: string | undefined,
  path: string,
  clock: Clock,
  trace: Trace | null,
): SlicedWork<{ newJobs: NewJob[]; batch?: Idempotency }> {
  const newJobs = yield* eachNewJob(sent, path, clock, trace);
  if (key === undefined) return { newJobs };
  const keyed = newJobs.findIndex(({ idempotency }) => idempotency !== null);
  if (keyed >= 0) throw invalid(`${path}[${keyed}].idempotencyKey`, `cannot be given together with the header ${KEY_HEADER}`);
  return { newJobs, batch: { key, fingerprint: yield* fingerprintOfBatch(newJobs) } };
}

function* eachNewJob(sent: readonly EnqueueJob[], path: string, clock: Clock, trace: Trace | null): SlicedWork<NewJob[]> {
  const jobs: NewJob[] = [];
  for (const [index, job] of sent.entries()) {
    jobs.push(yield* newJob(job, `${path}[${index}].`, clock, trace));
    yield;
  }
  return jobs;
}

/** Turns a validated body into a new job. `at` is the path of the job in a batch, for errors. */
function* newJob(body: EnqueueJob, at: string, clock: Clock, trace: Trace | null): SlicedWork<NewJob> {
  const payload = (body.payload as RawJson).text;
  if (Buffer.byteLength(payload) > LIMITS.payloadBytes) {
    throw payloadTooLarge(LIMITS.payloadBytes, `${at}payload`);
  }
  yield* checkPayloadTemplates(payload, `${at}payload`);
  if (body.delay !== undefined && body.run_at !== undefined) throw invalid(`${at}run_at`, "cannot be given together with delay");
  const runAtMs = body.run_at === undefined ? null : parseMoment(body.run_at);
  if (runAtMs !== null && runAtMs > clock.nowMs() + LIMITS.delaySeconds * 1000) {
    throw invalid(`${at}run_at`, `must not be more than ${LIMITS.delaySeconds} seconds ahead`);
  }
  const job: NewJob = {
    payload,
    delaySeconds: body.delay ?? 0,
    runAtMs,
    tag: body.tag ?? null,
    priority: body.priority ?? 0,
    concurrencyKey: body.concurrencyKey ?? null,
    attempts: body.attempts ?? null,
    backoffDelayMs: body.backoff?.delay ?? null,
    trace,
    idempotency: null,
  };
  const { idempotencyKey: key } = body;
  return key === undefined ? job : { ...job, idempotency: { key, fingerprint: yield* fingerprintOf(job) } };
}
