import type { FastifyReply, FastifyRequest } from "fastify";
import type { SharedResource, WorkspaceId } from "#kernel";
import type { Api } from "./api.ts";

/** Smaller bodies are not counted: the number of connections limits them. */
const MIN_COUNTED_BYTES = 16 * 1024;
/** A client that takes nothing of a response for this long is disconnected. */
const STALLED_RESPONSE_MS = 30_000;

/**
 * Counts the bytes of large bodies and responses by workspace. A large body is read when there is room for it, and counts until its
 * request is answered. A large response counts until the client has taken it; a client that stops taking it is disconnected.
 */
export function shareRequestMemory(api: Api, memory: SharedResource): void {
  /** Takes bytes that are given back when the exchange is over, however it ends. */
  const hold = (reply: FastifyReply, workspaceId: WorkspaceId, bytes: number): void => {
    reply.raw.once("close", () => memory.giveBack(workspaceId, bytes));
  };

  api.addHook("onRequest", (request, _reply, done) => {
    const workspaceId = request.principal?.workspaceId;
    // Responses of the workspace that no one takes fill its share.
    done(workspaceId !== undefined && memory.roomFor(workspaceId) < 1 ? memory.refusal(workspaceId) : undefined);
  });

  api.addHook("preParsing", (request, reply, payload, done) => {
    const workspaceId = request.principal?.workspaceId;
    const bytes = expectedBytes(request);
    if (workspaceId === undefined || bytes < MIN_COUNTED_BYTES) return done(null, payload);
    const take = async () => {
      // As long as nobody reads the body, the client has to wait.
      await memory.takeInTurn(workspaceId, bytes);
      if (reply.raw.destroyed) memory.giveBack(workspaceId, bytes);
      else hold(reply, workspaceId, bytes);
    };
    take().then(() => done(null, payload), done);
  });

  api.addHook("onSend", (request, reply, payload, done) => {
    const workspaceId = request.principal?.workspaceId;
    const bytes = typeof payload === "string" ? payload.length : 0;
    if (bytes >= MIN_COUNTED_BYTES && !reply.raw.destroyed) {
      reply.raw.setTimeout(STALLED_RESPONSE_MS, () => reply.raw.destroy());
      if (workspaceId !== undefined) {
        memory.take(workspaceId, bytes);
        hold(reply, workspaceId, bytes);
      }
    }
    done(null, payload);
  });
}

/** How long the body will be: as announced, or as long as the route allows. 0 without a body. */
function expectedBytes({ headers, routeOptions }: FastifyRequest): number {
  const limit = routeOptions.bodyLimit ?? 0;
  const announced = headers["content-length"];
  if (announced !== undefined) return Math.min(Number(announced) || 0, limit);
  return headers["transfer-encoding"] === undefined ? 0 : limit;
}
