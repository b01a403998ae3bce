import type { FastifyReply, FastifyRequest } from "fastify";
import { type SharedResource, unavailable, type WorkspaceId } from "#kernel";
import type { Api } from "./api.ts";
import { JsonStream } from "./json-text.ts";

/** Smaller bodies are not counted: the number of connections limits them. */
export const MIN_COUNTED_BYTES = 16 * 1024;

declare module "fastify" {
  interface FastifyRequest {
    /** What the request holds of its workspace's memory. Bytes. */
    heldBytes: number;
  }
  interface FastifyReply {
    /**
     * Counts what the response will hold, before it is made: until the client has taken it, or the exchange is over. A negative number
     * reduces it. Absent on listeners that workspaces do not share.
     */
    holdBytes?: (bytes: number) => void;
    /**
     * Like `holdBytes`, but waits until the workspace has any room. Call it before reading what the response will hold. The whole response
     * is counted, even if that exceeds the room. The next one waits until there is room again.
     *
     * @throws UNAVAILABLE when that takes too long, or when the client is gone by then
     */
    holdBytesInTurn?: (bytes: number) => Promise<void>;
  }
  interface FastifyContextConfig {
    /** The maximum size of the route's response, if it may be large. Bytes. */
    responseBytes?: number;
  }
}

/** Counts the bytes of large bodies and responses by workspace, until the client has taken the response. */
export class RequestMemory {
  readonly #memory: SharedResource;

  constructor(api: Api, memory: SharedResource) {
    this.#memory = memory;
    const hold = (reply: FastifyReply, bytes: number) => this.#expect(reply, bytes);
    api.decorateRequest("heldBytes", 0);
    api.decorateReply("holdBytes", function holdBytes(this: FastifyReply, bytes: number) {
      hold(this, bytes);
    });
    const holdInTurn = (reply: FastifyReply, bytes: number) => this.#expectInTurn(reply, bytes);
    api.decorateReply("holdBytesInTurn", function holdBytesInTurn(this: FastifyReply, bytes: number) {
      return holdInTurn(this, bytes);
    });
  }

  /**
   * Takes memory for a request's body, or for the response of its route if that may be larger. A large body or response waits for its turn:
   * as long as nobody reads the body, the client has to wait, too.
   *
   * @throws UNAVAILABLE when that takes too long, or when responses that nobody takes fill the workspace's share
   */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
    const workspaceId = request.principal?.workspaceId;
    if (workspaceId === undefined) return undefined;
    if (this.#memory.roomFor(workspaceId) < 1) throw this.#memory.refusal(workspaceId);
    const bytes = Math.max(bodyBytes(request), request.route.config.responseBytes ?? 0);
    return bytes < MIN_COUNTED_BYTES ? undefined : this.#take(request, reply, workspaceId, bytes);
  }

  /** Counts a response instead of the request's body, which is no longer needed. */
  respond(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
    const workspaceId = request.principal?.workspaceId;
    if (workspaceId === undefined) return;
    const bytes = lengthOf(payload) ?? request.heldBytes;
    const more = bytes - request.heldBytes;
    if (more > 0 && bytes >= MIN_COUNTED_BYTES) {
      this.#memory.take(workspaceId, more);
      this.#hold(request, reply, workspaceId, more);
    } else if (more < 0) {
      this.#memory.release(workspaceId, -more);
      request.heldBytes += more;
    }
  }

  #expect(reply: FastifyReply, bytes: number): void {
    const { request } = reply;
    const workspaceId = request.principal?.workspaceId;
    if (workspaceId === undefined) return;
    if (bytes < 0) {
      const less = Math.min(-bytes, request.heldBytes);
      this.#memory.release(workspaceId, less);
      request.heldBytes -= less;
    } else if (request.heldBytes + bytes >= MIN_COUNTED_BYTES) {
      this.#memory.take(workspaceId, bytes);
      this.#hold(request, reply, workspaceId, bytes);
    }
  }

  async #expectInTurn(reply: FastifyReply, bytes: number): Promise<void> {
    const { request } = reply;
    const workspaceId = request.principal?.workspaceId;
    if (workspaceId === undefined || bytes < MIN_COUNTED_BYTES) return;
    await this.#take(request, reply, workspaceId, bytes, 1);
    if (reply.raw.destroyed) throw unavailable("The client is gone.");
  }

  async #take(request: FastifyRequest, reply: FastifyReply, workspaceId: WorkspaceId, bytes: number, minRoom = bytes): Promise<void> {
    await this.#memory.takeInTurn(workspaceId, bytes, minRoom);
    this.#hold(request, reply, workspaceId, bytes);
  }

  /** The request has taken these bytes. What it holds is released when its exchange is over, however it ends. */
  #hold(request: FastifyRequest, reply: FastifyReply, workspaceId: WorkspaceId, bytes: number): void {
    const isFirst = request.heldBytes === 0;
    request.heldBytes += bytes;
    const release = () => {
      this.#memory.release(workspaceId, request.heldBytes);
      request.heldBytes = 0;
    };
    if (reply.raw.destroyed) release();
    else if (isFirst) reply.raw.once("close", release);
  }
}

/** The length of a response. Null when that is not known. */
function lengthOf(payload: unknown): number | null {
  if (typeof payload === "string") return payload.length;
  return payload instanceof JsonStream ? payload.characters : null;
}

/** The length that the body will have: as announced, or the maximum of the route. 0 without a body. */
function bodyBytes({ headers, route }: FastifyRequest): number {
  const limit = route.bodyLimit ?? 0;
  const announced = headers["content-length"];
  if (announced !== undefined) return Math.min(Number(announced) || 0, limit);
  return headers["transfer-encoding"] === undefined ? 0 : limit;
}
