import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type EmitEvent, problem, standStills } from "#kernel";
import { JSON_TYPE } from "./json-text.ts";
import { closeLater } from "./linger.ts";

/** Of a request that does not arrive in time. */
const LATE = "ERR_HTTP_REQUEST_TIMEOUT";

/** Messages for common errors of Node's HTTP parser. */
const MESSAGES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "The request's headers are too large.",
  HPE_INVALID_CONTENT_LENGTH: "The request's Content-Length is not a valid length.",
  SMALL_CHUNKS: "The body comes in chunks that are too small: send at least 64 bytes in each.",
  [LATE]: "The request did not arrive in time.",
};

/** Connections whose last response was such a refusal. */
const refused = new WeakSet<object>();

/** Whether nothing more that comes over a connection is served: its client has been told so. */
export const isRefused = (socket: object): boolean => refused.has(socket);

/** Answers requests that are not valid HTTP. They reach no route, but get the error envelope and a request id like all others. */
export const refuseBadHttp =
  (emit: EmitEvent, nextRequestId: () => string) =>
  (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === "ECONNRESET" || !socket.writable) return;
    // The rest of the request may have come in time.
    if (error.code === LATE && standStills.isRecent) return;
    refused.add(socket);
    const requestId = nextRequestId();
    emit("request_refused", { requestId, error });
    const { code, message, status } = problem(
      "VALIDATION_ERROR",
      {},
      { message: MESSAGES[error.code ?? ""] ?? "The request is not well-formed HTTP." },
    );
    const body = JSON.stringify({ error: { code, message, details: { issues: [] } } });
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      "Connection: close",
      `X-Request-Id: ${requestId}`,
      `Content-Type: ${JSON_TYPE}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
    closeLater(socket);
  };
