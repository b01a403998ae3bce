import type { FastifyReply } from "fastify";

/** Routes for pages only. */
export const config = { page: true } as const;

/** Hides routes from the API document, which is for programs. */
export const hidden = <Schemas extends object>(schemas: Schemas): Schemas => ({ ...schemas, hide: true });

export const empty = (reply: FastifyReply): FastifyReply => reply.code(204).send();
