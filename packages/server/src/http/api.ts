import type { IncomingMessage, ServerResponse } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from "fastify";
import type { Db, Uuid } from "#kernel";
import type { RefusedPaths } from "./refused-paths.ts";

/** A listener on which modules mount their routes. */
export type Api = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, TypeBoxTypeProvider>;

/** The reader of an open stream. */
export interface StreamReader {
  /**
   * Authenticates the reader again, and checks their role.
   *
   * @throws UNAUTHORIZED, FORBIDDEN or NOT_FOUND, as for a new request; UNAVAILABLE while the database is unavailable
   */
  readonly reauthenticate: () => Promise<void>;
  /** Null for the holder of a key. */
  readonly personId: Uuid | null;
}

/** Makes sure, in a transaction, that the sender of a request still has the right to do what it is about to do (`lockAccess`). */
export type LockAccess = (tx: Db) => Promise<void>;

declare module "fastify" {
  interface FastifyInstance {
    /** Requests that have arrived completely and are not answered yet. */
    inFlight: Set<FastifyRequest>;
    /** Paths that refuse the methods that no route has. */
    refusedPaths: RefusedPaths;
    /** The reader of the stream that a request opens. */
    readerOf(request: FastifyRequest): StreamReader;
    /** Returns the check for changes that give somebody rights. */
    lockAccess(request: FastifyRequest): LockAccess;
  }
  interface FastifyRequest {
    /** Whether no route has the request's path. */
    isUnknown: boolean;
    /** `routeOptions`, of which Fastify makes a new object each time that it is read. */
    route: FastifyRequest["routeOptions"];
  }
  interface FastifyContextConfig {
    /** The member of the body whose values stay raw text (`RawJson`). */
    rawMember?: string;
    /** The member of the body whose objects also have raw members. Default: `jobs`. */
    rawList?: string;
    /** The body is any JSON value, and stays raw text (`RawJson`). No body counts as null. */
    rawBody?: boolean;
    /** No body counts as an empty object. */
    emptyBody?: boolean;
    /** The route is served whatever the request's `Host` is. */
    anyHost?: boolean;
    /** The methods that the path has, on a route that refuses all others. */
    allow?: string;
  }
}
