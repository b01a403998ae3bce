import type { FastifyReply } from "fastify";

/** Aborted when the connection ends before the response. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  return gone.signal;
}
