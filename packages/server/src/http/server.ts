import { createServer, type RequestListener, type Server } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { LIMITS } from "@tidemill/contract";
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import {
  type Db,
  type EmitEvent,
  invalid,
  malformed,
  notFound,
  type ProblemError,
  problem,
  type Random,
  runSynchronously,
  type Shares,
  type SlicedWork,
  unavailable,
} from "#kernel";
import type { CheckHost } from "./allowed-hosts.ts";
import type { Api } from "./api.ts";
import { type Authenticator, authenticate, checkRole, identify, lockAccess, reauthenticate } from "./authenticate.ts";
import { expectRequest, refuseBadHttp, wasRefused } from "./bad-http.ts";
import { BodyMemory } from "./body-memory.ts";
import { limitBodyTime } from "./body-time.ts";
import { BodyTurns } from "./body-turns.ts";
import { refuseSmallChunks } from "./chunk-size.ts";
import { compileAhead } from "./compile-ahead.ts";
import { Connections, type ConnectionsOptions } from "./connections.ts";
import { type JsonBodyOptions, parseJsonBody, RawJson, readRawBody } from "./json-body.ts";
import { JsonStream } from "./json-text.ts";
import { sliceLongLists } from "./long-lists.ts";
import { runForRequest } from "./loop-time.ts";
import { nearRoute } from "./near-route.ts";
import { pageScopeOf, rewritePageUrl } from "./page-requests.ts";
import { replyProblem } from "./problem-reply.ts";
import { limitRate, type RateLimiter } from "./rate-limit.ts";
import { readQuery } from "./read-query.ts";
import { freeBody, receiveBody } from "./receive-body.ts";
import { MAX_PARAM_LENGTH, RefusedPaths } from "./refused-paths.ts";
import { RequestMemory } from "./request-memory.ts";
import { endIfStalled } from "./stalled-responses.ts";
import { MAX_ISSUES } from "./validate.ts";

const REQUEST_TIMEOUT_MS = 120_000;
const KEEP_ALIVE_MS = 72_000;
/** A connection that has not sent a complete head by then is closed, even if it sends nothing. */
const HEAD_TIMEOUT_MS = 10_000;
const STALLED_RESPONSE_MS = 30_000;
/** The maximum body of requests that anybody may send, to sign in. No workspace's share limits how much of the node they take. */
const SIGN_IN_BODY_BYTES = 64 * 1024;
const SMALL_BODY_TIMEOUT_MS = 10_000;
/** If its body took longer than this, a request is authenticated again: the sender's key or role may have ended in the meantime. */
const MAX_BODY_WAIT_MS = 500;

export interface ApiOptions {
  readonly authenticator: Authenticator;
  /** Without it, no request is limited. */
  readonly rateLimiter?: RateLimiter;
  readonly emit: EmitEvent;
  readonly random: Random;
  /** Without it, nothing is shared among workspaces. */
  readonly shares?: Pick<Shares, "requestMemory" | "loopTime">;
  /** How long a client may take nothing of a response before it is disconnected. Milliseconds. */
  readonly stalledResponseMs?: number;
  /** How long a body of 64 KiB or less may take. Milliseconds. */
  readonly smallBodyTimeoutMs?: number;
  /** If its body has taken longer than this, a request is authenticated again. Milliseconds. */
  readonly maxBodyWaitMs?: number;
  readonly isServing?: () => boolean;
  /** Without it, connections are not limited. */
  readonly connections?: Omit<ConnectionsOptions, "emit">;
  readonly headTimeoutMs?: number;
  /** Called with the status of each response that is 500 or more. */
  readonly onServiceError?: (status: number) => void;
  /** Without it, every `Host` is served. */
  readonly checkHost?: CheckHost;
}

/** Creates a listener with what all endpoints share: request ids, authentication, rate limits, strict JSON, the error envelope. */
export function createApi(options: ApiOptions): Api {
  const { authenticator, rateLimiter, emit, random, shares, isServing = () => true, checkHost = () => {} } = options;
  const { headTimeoutMs = HEAD_TIMEOUT_MS, stalledResponseMs = STALLED_RESPONSE_MS, smallBodyTimeoutMs = SMALL_BODY_TIMEOUT_MS } = options;
  const { maxBodyWaitMs = MAX_BODY_WAIT_MS } = options;
  const process = random.bytes(6).toString("hex");
  let requests = 0;
  const nextRequestId = () => `req_${process}${(++requests).toString(36)}`;
  const onError = replyProblem(emit, options.onServiceError);
  const connections = options.connections && new Connections({ ...options.connections, emit });
  const api = Fastify({
    bodyLimit: LIMITS.bodyBytes,
    genReqId: nextRequestId,
    // When the node stops, idle connections are closed and the others may finish.
    forceCloseConnections: "idle",
    // Fastify's own 503 does not have the error envelope. `isServing` refuses requests on connections that are still open instead.
    return503OnClosing: false,
    frameworkErrors: onError,
    clientErrorHandler: refuseBadHttp(emit, nextRequestId),
    serverFactory: (serve) => {
      const serveWhole: RequestListener = (request, response) => {
        if (!expectRequest(request)) return;
        refuseSmallChunks(server, request);
        serve(request, response);
      };
      const server: Server = createServer(
        {
          requestTimeout: REQUEST_TIMEOUT_MS,
          keepAliveTimeout: KEEP_ALIVE_MS,
          headersTimeout: headTimeoutMs,
          connectionsCheckingInterval: headTimeoutMs / 5,
          // Node would refuse requests without Host itself, with a response that has no body.
          requireHostHeader: false,
        },
        connections ? connections.listenerOf(serveWhole) : serveWhole,
      );
      connections?.watch(server);
      return server;
    },
    ...(authenticator.pages && { rewriteUrl: rewritePageUrl }),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
  }).withTypeProvider<TypeBoxTypeProvider>();

  compileAhead(api as unknown as Api);
  // Routes build their responses field by field, so there is nothing to filter out.
  api.setSerializerCompiler(() => JSON.stringify);
  api.setErrorHandler(onError);
  const unknownRoute = unknownRoutes(api as unknown as Api);
  api.setNotFoundHandler((request) => {
    throw unknownRoute(request);
  });
  api.removeAllContentTypeParsers();
  const parse = (request: FastifyRequest, body: Buffer): unknown => {
    const { rawMember = null, rawList, rawBody } = request.route.config;
    const { jsonDepth: maxDepth } = LIMITS;
    const work = rawBody ? readRawBody(body, maxDepth) : readBody(body, { maxDepth, rawMember, rawList });
    const { principal } = request;
    return shares && principal ? runForRequest(shares.loopTime, request, principal.workspaceId, body.length, work) : runSynchronously(work);
  };
  const bodyTurns = new BodyTurns();
  const memory = new BodyMemory(shares?.requestMemory.capacity ?? 0);
  api.addContentTypeParser(/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i, (request, payload, done) => {
    const { headers, principal, route } = request;
    const expected = {
      limit: route.bodyLimit ?? LIMITS.bodyBytes,
      announced: Number(headers["content-length"]),
      memory,
      onPiece: principal ? bodyTurns.begin(principal.workspaceId, payload) : undefined,
    };
    receiveBody(payload, expected, (error, body) => {
      if (error || !body) return done(error);
      if (wasRefused(request.raw.socket)) return freeBody(body, memory);
      let parsed: unknown;
      try {
        parsed = parse(request, body);
      } catch (refused) {
        freeBody(body, memory);
        return done(refused as Error);
      }
      if (parsed instanceof Promise) return void parsed.then((value) => done(null, value), done).finally(() => freeBody(body, memory));
      freeBody(body, memory);
      done(null, parsed);
    });
  });
  api.addHook("preValidation", (request, _reply, done) => {
    readQuery(request);
    const { emptyBody, rawBody } = request.route.config;
    if (request.body === undefined && emptyBody) request.body = {};
    if (request.body === undefined && rawBody) request.body = new RawJson("null");
    if (request.route.schema?.body === undefined) refuseBody(request.body);
    if (!(request.principal || request.person) || performance.now() - request.authenticatedMs < maxBodyWaitMs) return done();
    return void reauthenticate(authenticator, request).then(() => done(), done);
  });
  api.addHook("onRoute", (route) => {
    if (route.config?.page) route.bodyLimit ??= SIGN_IN_BODY_BYTES;
  });
  const refusedPaths = new RefusedPaths();
  api.decorate("refusedPaths", refusedPaths);
  api.decorateRequest("route");
  api.decorateRequest("isUnknown", false);
  api.decorateRequest("principal", null);
  api.decorateRequest("person", null);
  api.decorateRequest("authenticatedMs", 0);
  api.decorateRequest("overLimit", null);
  trackInFlight(api as unknown as Api);
  api.decorate("readerOf", (request: FastifyRequest) => ({
    reauthenticate: () => reauthenticate(authenticator, request),
    personId: request.person?.personId ?? null,
  }));
  api.decorate("lockAccess", (request: FastifyRequest) => (tx: Db) => lockAccess(authenticator, request, tx));
  if (shares) api.server.on("connection", () => shares.loopTime.accepted());
  const requestMemory = shares && new RequestMemory(api as unknown as Api, shares.requestMemory);
  const expectBody = limitBodyTime(api as unknown as Api, smallBodyTimeoutMs);
  const admit = (request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined => {
    request.authenticatedMs = performance.now();
    connections?.admit(request, reply);
    const limiting = rateLimiter && limitRate(rateLimiter, emit, request, reply);
    return limiting ? limiting.then(() => admitBody(request, reply)) : admitBody(request, reply);
  };
  const admitBody = (request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined => {
    checkRole(request);
    // Here and not in the handler, which runs only after the body was read.
    if (request.isUnknown) throw unknownRoute(request);
    const { allow } = request.route.config;
    if (allow !== undefined) throw problem("METHOD_NOT_ALLOWED", {}, { headers: { Allow: allow } });
    const turn = requestMemory?.admit(request, reply);
    if (turn) return turn.then(() => expectBody(request));
    expectBody(request);
    return undefined;
  };
  /** Returns undefined when there is nothing to wait for. So most requests need no promises. */
  const receive = (request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined => {
    request.route = request.routeOptions;
    const refused = request.is404 ? refusedPaths.find(request) : null;
    if (refused) request.route = { ...request.route, config: { ...request.route.config, ...refused } };
    request.isUnknown = request.is404 && !refused;
    // Not on `reply.raw`: then Node would set each header of the response by itself.
    void reply.header("x-request-id", request.id).header("x-content-type-options", "nosniff").header("cache-control", "no-store");
    if (request.headers.host === undefined && request.raw.httpVersion === "1.1") throw invalid("host", "is required in HTTP/1.1");
    const { anyHost, access, page } = request.route.config;
    if (!anyHost) checkHost(request.headers.host);
    if (!isServing() && (access !== undefined || page)) throw unavailable("The node is starting or stopping.");
    const ofPage = pageScopeOf(request) !== null;
    // The operator API of the public listener is for pages only. For all others it does not exist.
    if (authenticator.pages && access === "operator" && !ofPage) throw unknownRoute(request);
    const authenticating = authenticate(authenticator, request);
    if (authenticating) return authenticating.then(() => admit(request, reply));
    const identifying = rateLimiter && request.isUnknown && !ofPage && request.url.startsWith("/v1/") && identify(authenticator, request);
    return identifying ? identifying.then(() => admit(request, reply)) : admit(request, reply);
  };
  api.addHook("onRequest", (request, reply, done) => {
    let receiving: Promise<void> | undefined;
    try {
      receiving = receive(request, reply);
    } catch (error) {
      return done(error as Error);
    }
    return receiving ? void receiving.then(() => done(), done) : done();
  });
  if (shares) sliceLongLists(api as unknown as Api, shares.loopTime);
  api.addHook("onSend", (request, reply, payload, done) => {
    if (payload instanceof JsonStream && request.principal) payload.workspaceId = request.principal.workspaceId;
    requestMemory?.respond(request, reply, payload);
    endIfStalled(reply.raw, payload, stalledResponseMs);
    done(null, payload);
  });
  // An unknown expectation may be ignored (RFC 9110, 10.1.1). Node would refuse it, with a response that has no body.
  api.server.on("checkExpectation", (request, response) => api.server.emit("request", request, response));
  return api as unknown as Api;
}

/** Returns a function that makes the error for a request of an unknown route. */
function unknownRoutes(api: Api): (request: FastifyRequest) => ProblemError {
  const routes = new Set<string>();
  // Names of the operator API are not suggested.
  api.addHook("onRoute", ({ url, path, config }) => {
    if (config?.access !== "operator") routes.add(url ?? path);
  });
  return ({ method, url }) => {
    const [path = ""] = url.split("?");
    return notFound({ resource: "route", method, path, suggestion: nearRoute(path, routes) });
  };
}

function trackInFlight(api: Api): void {
  const inFlight = new Set<FastifyRequest>();
  api.decorate("inFlight", inFlight);
  api.addHook("preHandler", (request, reply, done) => {
    inFlight.add(request);
    // Not `onResponse`, which is not called for a stream that the client does not read to its end.
    reply.raw.on("close", () => inFlight.delete(request));
    done();
  });
}

/** An empty body counts as no body. The route's schema decides whether that is allowed. */
function* readBody(body: Buffer, options: JsonBodyOptions): SlicedWork<unknown> {
  return body.length === 0 ? undefined : yield* parseJsonBody(body, options);
}

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
