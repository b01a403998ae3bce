import type { FastifyReply } from "fastify";

/** Aborted when the connection ends before the response, or has ended. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (reply.raw.destroyed) gone.abort();
  reply.raw.once("close", () => {
    // Every response ends with `close`. An abort makes an error with a stack, which costs as much as a small response.
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
