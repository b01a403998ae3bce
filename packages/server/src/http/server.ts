import type { IncomingMessage, ServerResponse } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { LIMITS } from "@tidemill/contract";
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, type RawServerDefault } from "fastify";
import { type EmitEvent, invalid, malformed, notFound, problem, type Random, unavailable } from "#kernel";
import type { CheckHost } from "./allowed-hosts.ts";
import { type Authenticator, authenticate, checkRole, recognise } from "./authenticate.ts";
import { refuseBadHttp } from "./bad-http.ts";
import { parseJsonBody } from "./json-body.ts";
import { nearRoute } from "./near-route.ts";
import { replyProblem } from "./problem-reply.ts";
import { limitRate, type RateLimiter } from "./rate-limit.ts";
import { readQuery } from "./read-query.ts";
import { compileSchema, MAX_ISSUES } from "./validate.ts";

/** A listener on which modules mount their routes. */
export type Api = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, TypeBoxTypeProvider>;

declare module "fastify" {
  interface FastifyInstance {
    /** Requests that have arrived completely and are not answered yet. */
    inFlight: Set<FastifyRequest>;
  }
  interface FastifyContextConfig {
    /** The member of the body whose values stay raw text (`RawJson`). */
    rawMember?: string;
    /** No body counts as an empty object. */
    emptyBody?: boolean;
    /** The route is served whatever the request's `Host` is. */
    anyHost?: boolean;
    /** The methods that the path has, on a route that refuses all others. */
    allow?: string;
  }
}

const REQUEST_TIMEOUT_MS = 120_000;
const KEEP_ALIVE_MS = 72_000;

export interface ApiOptions {
  readonly authenticator: Authenticator;
  /** Without it, no request is limited. */
  readonly rateLimiter?: RateLimiter;
  readonly emit: EmitEvent;
  readonly random: Random;
  readonly isServing?: () => boolean;
  /** Without it, every `Host` is served. */
  readonly checkHost?: CheckHost;
}

/** Creates a listener with what all endpoints share: request ids, authentication, rate limits, strict JSON, the error envelope. */
export function createApi({ authenticator, rateLimiter, emit, random, isServing = () => true, checkHost = () => {} }: ApiOptions): Api {
  const process = random.bytes(6).toString("hex");
  let requests = 0;
  const nextRequestId = () => `req_${process}${(++requests).toString(36)}`;
  const onError = replyProblem(emit);
  const api = Fastify({
    bodyLimit: LIMITS.bodyBytes,
    genReqId: nextRequestId,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // When the node stops, idle connections are closed and the others may finish.
    forceCloseConnections: "idle",
    // Fastify's own 503 does not have the error envelope. `isServing` refuses requests on connections that are still open instead.
    return503OnClosing: false,
    frameworkErrors: onError,
    clientErrorHandler: refuseBadHttp(emit, nextRequestId),
    // Node would refuse requests without Host itself, with a response that has no body.
    http: { requireHostHeader: false },
    routerOptions: { maxParamLength: 512 },
  }).withTypeProvider<TypeBoxTypeProvider>();

  api.setValidatorCompiler(compileSchema);
  // Routes build their responses field by field, so there is nothing to filter out.
  api.setSerializerCompiler(() => JSON.stringify);
  api.setErrorHandler(onError);
  refuseUnknownRoutes(api as unknown as Api);
  api.removeAllContentTypeParsers();
  api.addContentTypeParser(/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i, { parseAs: "buffer" }, (request, body, done) => {
    try {
      done(null, readBody(body as Buffer, request.routeOptions.config.rawMember ?? null));
    } catch (error) {
      done(error as Error);
    }
  });
  api.addHook("preValidation", (request, _reply, done) => {
    readQuery(request);
    if (request.body === undefined && request.routeOptions.config.emptyBody) request.body = {};
    if (!request.is404 && request.routeOptions.schema?.body === undefined) refuseBody(request.body);
    done();
  });
  api.decorateRequest("principal", null);
  trackInFlight(api as unknown as Api);
  api.addHook("onRequest", async (request, reply) => {
    reply.raw.setHeader("X-Request-Id", request.id);
    reply.raw.setHeader("X-Content-Type-Options", "nosniff");
    reply.raw.setHeader("Cache-Control", "no-store");
    if (request.headers.host === undefined && request.raw.httpVersion === "1.1") throw invalid("host", "is required in HTTP/1.1");
    if (!request.routeOptions.config.anyHost) checkHost(request.headers.host);
    if (!isServing() && request.routeOptions.config.access !== undefined) throw unavailable("The node is starting or stopping.");
    await authenticate(authenticator, request);
    if (rateLimiter && request.is404 && request.url.startsWith("/v1/")) await recognise(authenticator, request);
    if (rateLimiter) await limitRate(rateLimiter, emit, request, reply);
    checkRole(request);
    const { allow } = request.routeOptions.config;
    if (allow !== undefined) throw problem("METHOD_NOT_ALLOWED", {}, { headers: { Allow: allow } });
  });
  // An unknown expectation may be ignored (RFC 9110, 10.1.1). Node would refuse it, with a response that has no body.
  api.server.on("checkExpectation", (request, response) => api.server.emit("request", request, response));
  return api as unknown as Api;
}

function refuseUnknownRoutes(api: Api): void {
  const routes = new Set<string>();
  api.addHook("onRoute", ({ url, path }) => void routes.add(url ?? path));
  api.setNotFoundHandler(({ method, url }) => {
    const [path = ""] = url.split("?");
    throw notFound({ resource: "route", method, path, suggestion: nearRoute(path, routes) });
  });
}

function trackInFlight(api: Api): void {
  const inFlight = new Set<FastifyRequest>();
  api.decorate("inFlight", inFlight);
  api.addHook("preHandler", (request, _reply, done) => {
    inFlight.add(request);
    done();
  });
  api.addHook("onResponse", (request, _reply, done) => {
    inFlight.delete(request);
    done();
  });
}

/** An empty body counts as no body. The route's schema decides whether that is allowed. */
const readBody = (body: Buffer, rawMember: string | null): unknown =>
  body.length === 0 ? undefined : parseJsonBody(body, { maxDepth: LIMITS.jsonDepth, rawMember });

/**
 * Refuses a body that the route would silently ignore. `{}` is accepted, for clients that always send JSON.
 *
 * @throws VALIDATION_ERROR naming the fields
 */
function refuseBody(body: unknown): void {
  if (body === undefined) return;
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw invalid("", "takes no body");
  const issues = Object.keys(body)
    .slice(0, MAX_ISSUES)
    .map((path) => ({ path, message: "is not a known field" }));
  if (issues.length > 0) throw malformed(issues);
}
