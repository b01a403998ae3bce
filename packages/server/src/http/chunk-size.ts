import type { IncomingMessage, Server } from "node:http";

/** A body may come in this many chunks of any size, and in more if they have at least `MIN_MEAN_BYTES` on average. */
const FREE_CHUNKS = 1_000;
const MIN_MEAN_BYTES = 64;

/**
 * Refuses a body that comes in very many very small chunks. Node makes an object for each chunk, which takes a hundred times the memory
 * that is counted for the bytes, and holds the event loop.
 */
export function refuseSmallChunks(server: Server, request: IncomingMessage): void {
  if (request.headers["transfer-encoding"] === undefined) return;
  const push = request.push.bind(request);
  let chunks = 0;
  let bytes = 0;
  let isRefused = false;
  request.push = (chunk: Buffer | null) => {
    if (isRefused) return false;
    if (chunk === null) return push(null);
    chunks += 1;
    bytes += chunk.length;
    if (chunks <= FREE_CHUNKS || bytes >= chunks * MIN_MEAN_BYTES) return push(chunk);
    isRefused = true;
    server.emit("clientError", Object.assign(new Error("The chunks of the body are too small."), { code: "SMALL_CHUNKS" }), request.socket);
    return false;
  };
}
