import { showDelivered, showJobId } from "#jobs";
import type { JobId, JsonParts, SharedResource, Timestamp, Transactional } from "#kernel";
import { mayHoldTemplates } from "#vault";
import { type BegunRun, buildRuns, type ClaimedRun, hookText, type InSlices, isOfRun } from "#workflows";
import { type FilledPayload, type FillPurpose, type FillSecrets, fillInput, fillSecrets } from "./fill-secrets.ts";
import type { KnownWorker } from "./known-worker.ts";
import { leaseToken } from "./lease-token.ts";
import { type CalledClaim, endClaims, type ReleaseDeps, releaseJobs } from "./release-jobs.ts";
import { type ResponseMemory, ResponseRoom } from "./response-room.ts";
import { showWorkId } from "./work-id.ts";

export interface ResponseDeps extends FillSecrets, ReleaseDeps {
  /** The memory for responses, which workspaces share. */
  readonly memory: Pick<SharedResource, "roomFor" | "refusal">;
}

/** A job that was claimed for a worker. */
export interface ClaimedJob {
  readonly claim: CalledClaim & { readonly leaseUntil: Timestamp; readonly begun?: BegunRun };
  readonly queue: string;
}

/** A claim as JSON text for its worker. */
export interface ClaimText {
  readonly claim: CalledClaim;
  readonly text: JsonParts;
}

/** What a response contains. */
export interface WorkResponse {
  readonly jobs: readonly ClaimText[];
  readonly runs: readonly ClaimText[];
  readonly hooks: readonly ClaimText[];
  /** Identifies the response. */
  readonly response: symbol;
}

export const claimsOf = ({ jobs, runs, hooks }: WorkResponse): CalledClaim[] => [...jobs, ...runs, ...hooks].map(({ claim }) => claim);

/** Leaves out what was cancelled in the meantime: no attempt of it starts (I4). Its claims are already void. */
export function withoutCancelled({ held }: Pick<ResponseDeps, "held">, given: WorkResponse, cancelled: ReadonlySet<string>): WorkResponse {
  if (cancelled.size === 0) return given;
  const { response } = given;
  const isCancelled = (claim: CalledClaim) => cancelled.has(showWorkId(claim));
  const isLeft = ({ claim }: ClaimText) => !isCancelled(claim);
  for (const { id } of claimsOf(given).filter(isCancelled)) if (held.get(id)?.response === response) held.delete(id);
  return { jobs: given.jobs.filter(isLeft), runs: given.runs.filter(isLeft), hooks: given.hooks.filter(isLeft), response };
}

/** What a response is made for. */
export interface ResponseOptions {
  /** Version of the worker's code. */
  readonly version: string | null;
  readonly purpose: FillPurpose;
  readonly hold: ResponseMemory["hold"];
}

/** Prepares jobs for their worker: fills in their secrets and adds tokens. An attempt whose secrets cannot be filled in ends here. */
export async function buildResponse(
  deps: ResponseDeps,
  db: Transactional,
  worker: KnownWorker,
  taken: readonly ClaimedJob[],
  { version, purpose, hold }: ResponseOptions,
): Promise<WorkResponse> {
  const response = Symbol();
  const room = new ResponseRoom({ hold, hasRoom: (bytes) => deps.memory.roomFor(worker.workspaceId) >= bytes });
  const runs = taken.filter(({ claim }) => isOfRun(claim));
  const hooks = taken.filter(({ claim }) => claim.kind === "hook");
  const jobs = taken.filter(({ claim }) => !isOfRun(claim) && claim.kind !== "hook");
  const [jobTexts, runTexts] = await Promise.all([
    together(jobs.map((job) => buildJobText({ deps, worker, purpose, response, room }, job))),
    buildRunTexts({ deps, worker, purpose, response, room }, db, runs, version),
  ]);
  for (const { claim, queue } of hooks) deps.held.add({ claim, response, queue, redactor: null }, 0);
  const textsOf = (some: readonly ClaimedJob[], text: (job: ClaimedJob, index: number) => JsonParts | null | undefined): ClaimText[] =>
    some.flatMap((job, index) => {
      const found = text(job, index);
      return found ? [{ claim: job.claim, text: found }] : [];
    });
  return {
    jobs: textsOf(jobs, (_, index) => jobTexts[index]),
    runs: textsOf(runs, ({ claim }) => runTexts.get(claim.id)),
    hooks: textsOf(hooks, ({ claim, queue }) => [hookText({ claim, workflow: queue, token: leaseToken(claim, worker.secret) })]),
    response,
  };
}

/** A response that is being made. */
interface ResponseBuild {
  readonly deps: ResponseDeps;
  readonly worker: KnownWorker;
  readonly purpose: FillPurpose;
  readonly response: symbol;
  readonly room: ResponseRoom;
}

/**
 * Begins executions. Returns them as JSON texts, by their jobs. Executions are left out if their run has ended, if their input names
 * secrets that it may not have, or if the response has no room for them.
 */
async function buildRunTexts(
  { deps, worker, purpose, response, room }: ResponseBuild,
  db: Transactional,
  taken: readonly ClaimedJob[],
  version: string | null,
): Promise<ReadonlyMap<JobId, JsonParts>> {
  const runs = taken.map(({ claim, queue }) => ({ claim, begun: claim.begun, workflow: queue, token: leaseToken(claim, worker.secret) }));
  const fill = ({ claim, workflow }: ClaimedRun, input: string) =>
    room.fill(input, () => fillInput(deps, claim, workflow, worker.name, input, purpose));
  const inSlices: InSlices = (characters, work) => deps.loopTime.run(worker.workspaceId, characters, work);
  const texts = new Map<JobId, JsonParts>();
  const { given, left } = await buildRuns(db, worker.workspaceId, runs, version, { fill, inSlices }, (bytes) => room.admit(bytes));
  const idsLeft = new Set(left.map(({ claim }) => claim.id));
  const claimsLeft = taken.flatMap(({ claim }) => (idsLeft.has(claim.id) ? [claim] : []));
  if (claimsLeft.length > 0) void releaseJobs(deps, worker, claimsLeft);
  for (const { claim, workflow, filled, text } of given) {
    if (text === null) await endClaims(deps, worker, [claim], filled);
    else {
      texts.set(claim.id, text);
      deps.held.add({ claim, response, queue: workflow, redactor: filled.redactor }, filled.secretLength);
    }
  }
  return texts;
}

/** Usually no payload has secrets. Then there is nothing to wait for. */
const together = <Text>(texts: (Text | Promise<Text>)[]): Text[] | Promise<Text[]> =>
  texts.some((text) => text instanceof Promise) ? Promise.all(texts) : (texts as Text[]);

function buildJobText(making: ResponseBuild, job: ClaimedJob): JsonParts | null | Promise<JsonParts | null> {
  const { payload } = job.claim;
  if (!mayHoldTemplates(payload)) return textOfFilled(making, job, { payload, redactor: null, secretLength: 0 });
  return fillJob(making, job);
}

async function fillJob(making: ResponseBuild, job: ClaimedJob): Promise<JsonParts | null> {
  const { deps, worker, purpose, room } = making;
  const { claim, queue } = job;
  const filled = await room.fill(claim.payload, () => fillSecrets(deps, claim, queue, worker.name, purpose));
  if ("payload" in filled) return textOfFilled(making, job, filled);
  await endClaims(deps, worker, [claim], filled);
  return null;
}

function textOfFilled(
  { deps, worker, response }: ResponseBuild,
  { claim, queue }: ClaimedJob,
  { payload, redactor, secretLength }: FilledPayload,
): JsonParts {
  deps.held.add({ claim, response, queue, redactor }, secretLength);
  return textOf(claim, queue, payload, leaseToken(claim, worker.secret));
}

/** The job as the worker gets it: with the fields of a callback, its trace and its lease. Source: contract §7. */
const textOf = (claim: ClaimedJob["claim"], queue: string, payload: string, token: string): JsonParts => {
  const { traceparent, tracestate, leaseUntil } = claim;
  const trace = `"traceparent":${JSON.stringify(traceparent)},"tracestate":${JSON.stringify(tracestate)}`;
  const lease = `"lease_token":"${token}","lease_expires_at":"${leaseUntil}"`;
  return showDelivered(claim, showJobId(claim.id), queue, payload, `${trace},${lease},`);
};
