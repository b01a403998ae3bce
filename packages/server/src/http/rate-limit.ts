import type { FastifyReply, FastifyRequest } from "fastify";
import { type EmitEvent, type ProblemError, problem, type WorkspaceId } from "#kernel";

/** Whether a request was granted, and how many its workspace has left. */
export interface RateLimitDecision {
  readonly granted: boolean;
  readonly remaining: number;
  /** Until `remaining` grows again. At least 1. */
  readonly moreInSeconds: number;
  /** When the whole limit is available again if no more requests are sent. Seconds since 1970. */
  readonly resetsAtSeconds: number;
}

export interface RateLimiter {
  /** Takes one request from the limit of a workspace. Never rejects. */
  take(workspaceId: WorkspaceId, requestsPerMinute: number): Promise<RateLimitDecision>;
  /** Whether a worker may report what it does with its jobs although the limit of its workspace is used up. */
  takeReport(workspaceId: WorkspaceId, requestsPerMinute: number): boolean;
}

/** A request that is over the limit of its workspace. */
export interface OverLimit {
  /** Makes its error. */
  readonly refuse: () => ProblemError;
  /** Returns whether the request may still report what a worker does with its jobs. */
  readonly mayReport: () => boolean;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set only for routes whose `overLimit` is "partly". */
    overLimit: OverLimit | null;
  }
  interface FastifyContextConfig {
    /**
     * What happens to a request over the limit of its workspace. Jobs that workers hold would be lost if their reports were refused:
     * "reports" takes these, up to a limit of their own. With "partly" the route decides. Default: it is refused.
     */
    overLimit?: "reports" | "partly";
  }
}

const WINDOW_SECONDS = 60;

/** The rate limit headers, for the API document. */
export const RATE_HEADERS = {
  "X-RateLimit-Limit": {
    type: "integer",
    description: "The limit: requests in any 60 seconds. Responses have the rate limit headers only if the workspace has a limit.",
  },
  "X-RateLimit-Remaining": { type: "integer", description: "How many requests are left." },
  "X-RateLimit-Reset": {
    type: "integer",
    description: "When the whole limit is available again if no more requests are sent. Seconds since 1970.",
  },
  "RateLimit-Policy": { type: "string", description: "The limit, in the format of draft-ietf-httpapi-ratelimit-headers-10." },
  RateLimit: {
    type: "string",
    description: "Requests left (r), and seconds until there are more (t), in the format of the same draft.",
  },
};

/**
 * Counts a request of a workspace with a rate limit, and sets the rate limit headers of its response, errors included. Source:
 * specification, Rate limits; contract §1; draft-ietf-httpapi-ratelimit-headers-10 for `RateLimit` and `RateLimit-Policy`.
 *
 * @throws RATE_LIMITED when the workspace has used up its limit, unless the route says otherwise (`overLimit`)
 */
export function limitRate(limiter: RateLimiter, emit: EmitEvent, request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
  const { principal } = request;
  const limit = principal?.requestsPerMinute ?? null;
  return principal && limit !== null ? take(limiter, emit, request, reply, { workspaceId: principal.workspaceId, limit }) : undefined;
}

async function take(
  limiter: RateLimiter,
  emit: EmitEvent,
  request: FastifyRequest,
  reply: FastifyReply,
  { workspaceId, limit }: { readonly workspaceId: WorkspaceId; readonly limit: number },
): Promise<void> {
  const { granted, remaining, moreInSeconds, resetsAtSeconds } = await limiter.take(workspaceId, limit);
  reply.headers({
    "X-RateLimit-Limit": limit,
    "X-RateLimit-Remaining": remaining,
    "X-RateLimit-Reset": resetsAtSeconds,
    "RateLimit-Policy": `"default";q=${limit};w=${WINDOW_SECONDS}`,
    RateLimit: `"default";r=${remaining};t=${moreInSeconds}`,
  });
  if (granted) return;
  const refuse = () => {
    emit("request_rate_limited", { requestId: request.id, workspaceId, limit });
    const details = { limit, retry_after_seconds: moreInSeconds };
    const message = `The workspace may send ${limit} requests in any ${WINDOW_SECONDS} s. Send this one again in ${moreInSeconds} s.`;
    return problem("RATE_LIMITED", details, { message, headers: { "Retry-After": String(moreInSeconds) } });
  };
  const mayReport = () => limiter.takeReport(workspaceId, limit);
  const { overLimit } = request.route.config;
  if (overLimit === "partly") request.overLimit = { refuse, mayReport };
  else if (overLimit === undefined || !mayReport()) throw refuse();
}
