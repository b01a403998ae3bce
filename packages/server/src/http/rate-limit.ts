import type { FastifyReply, FastifyRequest } from "fastify";
import { type EmitEvent, problem, type WorkspaceId } from "#kernel";

/** What became of a request, and what its workspace has left. */
export interface Taken {
  readonly granted: boolean;
  readonly remaining: number;
  /** Until more is left than now. At least 1. */
  readonly moreInSeconds: number;
  /** When the whole limit is left if nothing more is sent. Seconds since 1970. */
  readonly resetsAtSeconds: number;
}

export interface RateLimiter {
  /** Takes one of the requests that a workspace may send in any minute. Never rejects. */
  take(workspaceId: WorkspaceId, requestsPerMinute: number): Promise<Taken>;
}

const WINDOW_SECONDS = 60;

/** The headers of a limited workspace's replies, for their documentation. */
export const RATE_HEADERS = {
  "X-RateLimit-Limit": {
    type: "integer",
    description: "Requests in any 60 seconds. Only for a workspace with a limit, as those that follow.",
  },
  "X-RateLimit-Remaining": { type: "integer", description: "How many are left." },
  "X-RateLimit-Reset": { type: "integer", description: "When all are left again if nothing more is sent. Seconds since 1970." },
  "RateLimit-Policy": { type: "string", description: "The limit, as draft-ietf-httpapi-ratelimit-headers-10 writes it." },
  RateLimit: { type: "string", description: "By the same draft: how many are left (r), and in how many seconds more will be (t)." },
};

/**
 * Counts a request of a limited workspace, and says on its reply, whatever that will be, what is left. Source: specification, Rate
 * limits; contract §1; draft-ietf-httpapi-ratelimit-headers-10 for `RateLimit` and `RateLimit-Policy`.
 *
 * @throws RATE_LIMITED when the workspace has used its limit up
 */
export async function limitRate(limiter: RateLimiter, emit: EmitEvent, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const limit = request.principal?.requestsPerMinute ?? null;
  if (!request.principal || limit === null) return;
  const { workspaceId } = request.principal;
  const { granted, remaining, moreInSeconds, resetsAtSeconds } = await limiter.take(workspaceId, limit);
  reply.headers({
    "X-RateLimit-Limit": limit,
    "X-RateLimit-Remaining": remaining,
    "X-RateLimit-Reset": resetsAtSeconds,
    "RateLimit-Policy": `"default";q=${limit};w=${WINDOW_SECONDS}`,
    RateLimit: `"default";r=${remaining};t=${moreInSeconds}`,
  });
  if (granted) return;
  emit("request_rate_limited", { requestId: request.id, workspaceId, limit });
  const details = { limit, retry_after_seconds: moreInSeconds };
  throw problem("RATE_LIMITED", details, { headers: { "Retry-After": String(moreInSeconds) } });
}
