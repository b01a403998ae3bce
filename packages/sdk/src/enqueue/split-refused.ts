import { TidemillError } from "../error.ts";
import type { EncodedJob } from "./encode-job.ts";

/** What happens to the jobs of a refused batch, by their places in it. */
export interface Split {
  /** Jobs that are refused, each with its error. */
  readonly refused: ReadonlyMap<number, TidemillError>;
  /** Groups of jobs to send again: nothing of the batch was stored. */
  readonly again: readonly (readonly number[])[];
}

const OF_JOBS = new Set(["VALIDATION_ERROR", "PAYLOAD_TOO_LARGE", "IDEMPOTENCY_MISMATCH", "QUOTA_EXCEEDED"]);

/**
 * Whether an error is about single jobs, or about the size of the batch. Any other error is about all jobs alike. A proxy may respond with
 * a 413 of its own.
 */
const isOfJobs = ({ code, status }: TidemillError): boolean => OF_JOBS.has(code) || status === 413;

/**
 * Decides what happens to the jobs of a batch that the service refused as a whole. Jobs that the error names are refused. The others are
 * sent again in two halves, until the refused ones are found.
 */
export function splitRefused(jobs: readonly EncodedJob[], error: TidemillError): Split {
  const all = [...jobs.keys()];
  if (!isOfJobs(error) || jobs.length === 1) return { refused: new Map(all.map((at) => [at, errorOf(error, at)])), again: [] };
  const refused = new Map(error.code === "QUOTA_EXCEEDED" ? overQuota(jobs, error) : named(error, jobs.length));
  const left = all.filter((at) => !refused.has(at));
  const half = Math.ceil(left.length / 2);
  return { refused, again: [left.slice(0, half), left.slice(half)].filter((group) => group.length > 0) };
}

/** Once the month's executions are used up, only jobs whose keys are already known are still accepted. */
function overQuota(jobs: readonly EncodedJob[], error: TidemillError): [number, TidemillError][] {
  const { used, limit } = error.details as { used?: number; limit?: number };
  if (used === undefined || limit === undefined || used < limit) return [];
  return jobs.flatMap(({ hasKey }, at): [number, TidemillError][] => (hasKey ? [] : [[at, copyOf(error)]]));
}

interface NamingDetails {
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
  readonly path?: string;
  readonly index?: number;
}

/** The jobs that an error names, with the error that each would have got alone. */
function named(error: TidemillError, jobs: number): [number, TidemillError][] {
  const { issues = [], path, index } = error.details as NamingDetails;
  const places = [...issues.map((issue) => issue.path), ...(path === undefined ? [] : [path])].map(placeIn);
  const found = new Set([...places, index].filter((at): at is number => at !== undefined && at < jobs));
  return [...found].map((at) => [at, errorOf(error, at)]);
}

const placeIn = (path: string): number | undefined => {
  const [, at] = /^jobs\[(\d+)\]/.exec(path) ?? [];
  return at === undefined ? undefined : Number(at);
};

/** The error that one job of a refused batch would have got alone. Each caller gets an error of its own. */
export function errorOf(error: TidemillError, at: number): TidemillError {
  const { issues, path, index } = error.details as NamingDetails;
  const prefix = `jobs[${at}].`;
  const details = {
    ...error.details,
    ...(issues?.some((issue) => issue.path.startsWith(prefix)) && {
      issues: issues.filter((issue) => issue.path.startsWith(prefix)).map((issue) => ({ ...issue, path: issue.path.slice(prefix.length) })),
    }),
    ...(path?.startsWith(prefix) && { path: path.slice(prefix.length) }),
    ...(typeof index === "number" && { index: 0 }),
  };
  return copyOf(error, { details, message: error.message.replaceAll(prefix, "") });
}

const copyOf = (error: TidemillError, changes: { details?: Readonly<Record<string, unknown>>; message?: string } = {}): TidemillError =>
  new TidemillError({
    code: error.code,
    message: error.message,
    status: error.status,
    details: error.details,
    requestId: error.requestId,
    retryAfterMs: error.retryAfterMs,
    neverSent: error.neverSent,
    cause: error.cause,
    ...changes,
  });
