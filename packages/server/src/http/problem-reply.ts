import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { type EmitEvent, invalid, ProblemError, problem } from "#kernel";
import { JsonBodyError } from "./json-body.ts";

/** What Fastify itself refuses, in the catalogue's words; matched by its error codes. */
function asProblem(error: unknown, request: FastifyRequest): ProblemError | null {
  if (error instanceof ProblemError) return error;
  if (error instanceof JsonBodyError) return invalid("", error.message);
  const { code, statusCode } = error as Partial<FastifyError>;
  if (code === "ECONNRESET" && !request.raw.complete) return invalid("", "The connection ended before the body did.");
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") return problem("PAYLOAD_TOO_LARGE", { limit_bytes: request.routeOptions.bodyLimit });
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return invalid("content-type", "must be application/json");
  if (code === "FST_ERR_BAD_URL" || code === "FST_ERR_MAX_PARAM_LENGTH") return invalid("path", "cannot be decoded, or is too long");
  // Its other refusals: a Content-Length that does not fit, say.
  if (code?.startsWith("FST_ERR_") && statusCode !== undefined && statusCode < 500) return invalid("", (error as Error).message);
  return null;
}

/** Every error becomes the one envelope; what is no known problem is a fault of ours, told to the log and not to the caller. */
export const replyProblem =
  (emit: EmitEvent) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const known = asProblem(error, request);
    if (!known || known.code === "UNAVAILABLE") {
      emit(known ? "request_refused" : "request_failed", { requestId: request.id, method: request.method, url: request.url, error });
    }
    const { code, message, details, status, headers } = known ?? problem("INTERNAL");
    void reply
      .code(status)
      .headers({ "X-Request-Id": request.id, ...headers })
      .type("application/json; charset=utf-8")
      .send(JSON.stringify({ error: { code, message, details } }));
  };
