import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import {
  type EmitEvent,
  invalid,
  isOfDatabase,
  isRolledBack,
  PeriodicReport,
  ProblemError,
  problem,
  unavailable,
  WorkDroppedError,
} from "#kernel";
import { JsonBodyError } from "./json-body.ts";
import { JSON_TYPE } from "./json-text.ts";
import { closeLater } from "./linger.ts";

/** Errors of Fastify and PostgreSQL as problems of the catalogue, matched by their error codes. Null for any other error. */
function asProblem(error: unknown, request: FastifyRequest): ProblemError | null {
  if (error instanceof ProblemError) return error;
  if (error instanceof JsonBodyError) return invalid("", error.message);
  if (error instanceof WorkDroppedError) return unavailable("The connection was closed before the response.");
  if (isRolledBack(error)) return unavailable("The transaction conflicted with another one and was rolled back. Try again.");
  const { code, statusCode } = error as Partial<FastifyError>;
  if (code === "ECONNRESET" && !request.raw.complete) return invalid("", "The connection ended before the body was complete.");
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return invalid("content-type", "must be application/json");
  if (code === "FST_ERR_BAD_URL" || code === "FST_ERR_MAX_PARAM_LENGTH") return invalid("path", "cannot be decoded, or is too long");
  // Fastify's other refusals.
  if (code?.startsWith("FST_ERR_") && statusCode !== undefined && statusCode < 500) return invalid("", (error as Error).message);
  return null;
}

/** A longer rest of an unread body is not worth reading to keep the connection. */
const MAX_DUMPED_BYTES = 64 * 1024;

/** Whether the request is refused before its body, a large one, was read. */
function isUnread({ raw, headers }: FastifyRequest): boolean {
  if (raw.complete) return false;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > MAX_DUMPED_BYTES;
}

/** Closes the connection after the response, instead of reading the rest of the body, however long it is. */
function closeUnread({ raw }: FastifyRequest, reply: FastifyReply): void {
  const { socket } = raw;
  // Node would read the rest of a body that nobody began to read. This takes what is there, and no more.
  raw.pause();
  raw.read();
  void reply.header("connection", "close");
  socket.destroySoon = () => closeLater(socket);
}

/** The URL of a request without credentials: tokens of links, and the response of an identity provider. */
function urlToLog({ url, routeOptions }: FastifyRequest): string {
  const isOfSignIn = routeOptions?.config?.page === true;
  return isOfSignIn ? (routeOptions.url ?? "") : url.replace(/^(\/dashboard\/link\/).*/s, "$1…");
}

/**
 * Replies to every error with the error envelope. An unknown error is a fault of the service: it is logged, and callers see INTERNAL. A
 * deadlock is such a fault, too, but the caller may try again.
 *
 * @param onServiceError called with the status of each response that is 500 or more
 */
export function replyProblem(
  emit: EmitEvent,
  onServiceError: (status: number) => void = () => {},
): (error: unknown, request: FastifyRequest, reply: FastifyReply) => void {
  // When the database fails, that concerns many requests at once.
  const refusals = new PeriodicReport();
  return (error, request, reply) => {
    const known = asProblem(error, request);
    const isFault = !known || isRolledBack(error);
    if (isFault || known.code === "UNAVAILABLE") {
      emit(isFault ? "request_failed" : "request_refused", {
        requestId: request.id,
        method: request.method,
        url: urlToLog(request),
        error,
      });
    }
    if (known?.code === "UNAVAILABLE" && isOfDatabase(error))
      refusals.count(performance.now(), (count) => emit("requests_refused_by_database", { count, error }));
    if (isUnread(request)) closeUnread(request, reply);
    const { code, message, details, status, headers } = known ?? problem("INTERNAL");
    if (status >= 500) onServiceError(status);
    void reply
      .code(status)
      .headers({ "X-Request-Id": request.id, ...headers })
      .type(JSON_TYPE)
      .send(JSON.stringify({ error: { code, message, details } }));
  };
}
