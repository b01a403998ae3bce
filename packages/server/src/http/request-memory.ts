import type { FastifyReply, FastifyRequest } from "fastify";
import type { SharedResource, WorkspaceId } from "#kernel";
import type { Api } from "./api.ts";

/** Smaller bodies are not counted: the number of connections limits them. */
const MIN_COUNTED_BYTES = 16 * 1024;

declare module "fastify" {
  interface FastifyRequest {
    /** What the request holds of its workspace's memory. Bytes. */
    heldBytes: number;
  }
  interface FastifyContextConfig {
    /** How large the route's response may be, if it is large. Bytes. */
    responseBytes?: number;
  }
}

/**
 * Counts the bytes of large bodies and responses by workspace, until the client has taken the response. A request waits for its turn
 * before its body is read and its handler runs.
 */
export function shareRequestMemory(api: Api, memory: SharedResource): void {
  api.decorateRequest("heldBytes", 0);

  /** The request has taken these bytes. What it holds is given back when its exchange is over, however it ends. */
  const hold = (request: FastifyRequest, reply: FastifyReply, workspaceId: WorkspaceId, bytes: number): void => {
    const isFirst = request.heldBytes === 0;
    request.heldBytes += bytes;
    const giveBack = () => {
      memory.giveBack(workspaceId, request.heldBytes);
      request.heldBytes = 0;
    };
    if (reply.raw.destroyed) giveBack();
    else if (isFirst) reply.raw.once("close", giveBack);
  };

  api.addHook("onRequest", (request, _reply, done) => {
    const workspaceId = request.principal?.workspaceId;
    // Responses of the workspace that no one takes fill its share.
    done(workspaceId !== undefined && memory.roomFor(workspaceId) < 1 ? memory.refusal(workspaceId) : undefined);
  });

  api.addHook("preParsing", (request, reply, payload, done) => {
    const workspaceId = request.principal?.workspaceId;
    const bytes = Math.max(bodyBytes(request), request.routeOptions.config.responseBytes ?? 0);
    if (workspaceId === undefined || bytes < MIN_COUNTED_BYTES) return done(null, payload);
    const take = async () => {
      // As long as nobody reads the body, the client has to wait.
      await memory.takeInTurn(workspaceId, bytes);
      hold(request, reply, workspaceId, bytes);
    };
    take().then(() => done(null, payload), done);
  });

  api.addHook("onSend", (request, reply, payload, done) => {
    const workspaceId = request.principal?.workspaceId;
    // A stream comes from a request that holds the memory of its response.
    const bytes = typeof payload === "string" ? payload.length : request.heldBytes;
    const more = bytes - request.heldBytes;
    if (workspaceId !== undefined && more > 0 && bytes >= MIN_COUNTED_BYTES) {
      memory.take(workspaceId, more);
      hold(request, reply, workspaceId, more);
    } else if (workspaceId !== undefined && more < 0) {
      // The body is no longer needed, and the response may be smaller than was taken for it.
      memory.giveBack(workspaceId, -more);
      request.heldBytes += more;
    }
    done(null, payload);
  });
}

/** How long the body will be: as announced, or as long as the route allows. 0 without a body. */
function bodyBytes({ headers, routeOptions }: FastifyRequest): number {
  const limit = routeOptions.bodyLimit ?? 0;
  const announced = headers["content-length"];
  if (announced !== undefined) return Math.min(Number(announced) || 0, limit);
  return headers["transfer-encoding"] === undefined ? 0 : limit;
}
