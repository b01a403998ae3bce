import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type EmitEvent, problem, RECENT_MS, stalls } from "#kernel";
import { JSON_TYPE } from "./json-text.ts";
import { closeLater } from "./linger.ts";

/** Node's error code for a request that does not arrive in time. */
const LATE = "ERR_HTTP_REQUEST_TIMEOUT";

/** Messages for common errors of Node's HTTP parser. */
const MESSAGES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "The request's headers are too large.",
  HPE_INVALID_CONTENT_LENGTH: "The request's Content-Length is not a valid length.",
  SMALL_CHUNKS: "The body comes in chunks that are too small: send at least 64 bytes in each.",
  [LATE]: "The request did not arrive in time.",
};

/** Connections over which a client was sent a refusal. */
const refused = new WeakSet<object>();
/** The last request of each connection. */
const requests = new WeakMap<object, IncomingMessage>();

/** Records a request. Returns false if its client was sent a refusal over the same connection: then the request must not be served. */
export function expectRequest(request: IncomingMessage): boolean {
  if (refused.has(request.socket)) return false;
  requests.set(request.socket, request);
  return true;
}

/** Whether the client was sent a refusal over this connection: nothing that arrives later is served. */
export const wasRefused = (socket: object): boolean => refused.has(socket);

/** Answers requests that are not valid HTTP. They reach no route, but get the error envelope and a request id like all others. */
export const refuseBadHttp = (emit: EmitEvent, nextRequestId: () => string) => {
  const refuse = (error: Error & { code?: string }, socket: Socket): void => {
    if (!socket.writable) return;
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
  return (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === "ECONNRESET") return;
    if (error.code === LATE && stalls.isRecent) {
      // The rest of the request may have come in time. Node does not check again.
      const isStillLate = lateRequest(socket);
      setTimeout(() => isStillLate() && refuse(error, socket), RECENT_MS).unref();
    } else refuse(error, socket);
  };
};

/** Returns a function that says whether what a connection waits for now (the head of a request, or its body) has still not come. */
function lateRequest(socket: Socket): () => boolean {
  const request = requests.get(socket);
  const waitsForBody = request !== undefined && !request.complete;
  return () => (waitsForBody ? !request.complete : requests.get(socket) === request);
}
