import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { FastifyRequest } from "fastify";
import { stalls } from "#kernel";
import type { Api } from "./api.ts";

/** Larger bodies may take as long as a request. */
const MAX_SMALL_BYTES = 64 * 1024;
/** How many times the arrival of a body is checked in the time that it has. */
const LOOKS = 5;

interface Started {
  readonly raw: IncomingMessage;
  readonly atMs: number;
}

/** Called for each request before its body is read. */
export type ExpectBody = (request: FastifyRequest) => void;

/**
 * Ends a request whose small body does not arrive in time, as Node does with a request that takes too long. One timer serves all requests:
 * nearly every body arrives together with its head, and a timer of its own would cost more than reading it.
 */
export function limitBodyTime(api: Api, maxMs: number): ExpectBody {
  /** The last request of each connection. A request whose body has arrived stays until the next check. */
  const requests = new Map<Socket, Started>();
  const look = () => {
    // Bodies may have arrived that are not read yet.
    if (stalls.isRecent) return;
    for (const [socket, { raw, atMs }] of requests) {
      const isOver = raw.complete || raw.destroyed;
      if (!isOver && performance.now() - atMs < maxMs) continue;
      requests.delete(socket);
      if (!isOver) api.server.emit("clientError", lateBody(), socket);
    }
  };
  const timer = setInterval(look, maxMs / LOOKS).unref();
  api.addHook("onClose", async () => clearInterval(timer));
  return ({ raw, headers }) => {
    if (!raw.complete && Number(headers["content-length"]) <= MAX_SMALL_BYTES) requests.set(raw.socket, { raw, atMs: performance.now() });
  };
}

const lateBody = (): Error => Object.assign(new Error("The body did not arrive in time."), { code: "ERR_HTTP_REQUEST_TIMEOUT" });
