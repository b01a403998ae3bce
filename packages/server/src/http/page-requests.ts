import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { type Db, problem } from "#kernel";
import type { Principal, SignedIn } from "./principal.ts";

/** What a request of the dashboard's pages is for: a workspace, by the text of its id, or the operator API. */
export type PageScope = { readonly kind: "workspace"; readonly id: string } | { readonly kind: "operator" };

/** Who sent a request of the dashboard's pages. There is no principal for the operator API. */
export interface Authenticated {
  readonly person: SignedIn;
  readonly principal: Principal | null;
}

/** Authenticates requests of the dashboard's pages by the session in their cookie, and by nothing else. */
export interface PageAuthenticator {
  /**
   * @throws UNAUTHORIZED without a valid session; NOT_FOUND for a workspace that the person does not belong to; FORBIDDEN when they are not
   *   an operator
   */
  authenticate(request: FastifyRequest, scope: PageScope): Promise<Authenticated>;
  /** The same, in a transaction. Until it ends, the person's rights cannot change. */
  hold(tx: Db, request: FastifyRequest, scope: PageScope): Promise<Authenticated>;
  /** The origin at which clients reach this service, if the operator set it. Requests of pages may come from there. */
  readonly publicOrigin: string | null;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The person who sent a request of the dashboard's pages to the API. */
    person: SignedIn | null;
  }
  interface FastifyContextConfig {
    /** A route for the dashboard's pages: it gets only requests that no other site can make a browser send (`checkSameOrigin`). */
    page?: boolean;
    /** Browsers are sent to this route by another site. */
    fromAnySite?: boolean;
    /** A person must have confirmed within the last ten minutes who they are. A key need not. */
    confirm?: boolean;
  }
}

/*
 * The paths under which pages call the API. They are compared with the request's target as it was sent: a target that only means the same
 * (`/%64ashboard/…`, `//dashboard/…`, `http://host/dashboard/…`) is not such a request. So whether a request is authenticated by its cookie
 * or by its bearer token depends on these expressions alone, never on how the router interprets a path.
 */
const OPERATOR = /^\/dashboard\/api(\/admin\/v1\/.*)$/s;
const WORKSPACE = /^\/dashboard\/api\/([A-Za-z0-9_]{1,64})(\/v1\/.*)$/s;

const scopes = new WeakMap<IncomingMessage, PageScope>();

/** Marks a request of the dashboard's pages to the API, and returns the path of the route that it is for. */
export function rewritePageUrl(request: IncomingMessage): string {
  const url = request.url ?? "";
  if (!url.startsWith("/dashboard/api/")) return url;
  const [, operatorPath] = OPERATOR.exec(url) ?? [];
  if (operatorPath !== undefined) {
    scopes.set(request, { kind: "operator" });
    return operatorPath;
  }
  const [, id, path] = WORKSPACE.exec(url) ?? [];
  if (id === undefined || path === undefined) return url;
  scopes.set(request, { kind: "workspace", id });
  return path;
}

/** What a marked request is for. Null for all others, which are never authenticated by a cookie. */
export const pageScopeOf = (request: FastifyRequest): PageScope | null => scopes.get(request.raw) ?? null;

/** The header that pages send with each request that may change something. Other sites cannot send it without permission of this one. */
const PAGE_HEADER = "x-tidemill-dashboard";

/**
 * Refuses requests that another site may have made a browser send, which adds the session's cookie to them.
 *
 * Browsers send `Sec-Fetch-Site` only over HTTPS and to localhost. In a local network with plain HTTP, `Origin` must name this host.
 *
 * @throws FORBIDDEN
 */
export function checkSameOrigin(request: FastifyRequest, publicOrigin: string | null): void {
  const { headers, method, route } = request;
  const site = headers["sec-fetch-site"];
  if (method === "GET" || method === "HEAD") {
    if ((site === "cross-site" || site === "same-site") && !route.config.fromAnySite) throw refused("It came from another site.");
    return;
  }
  if (headers[PAGE_HEADER] !== "1") throw refused("It must have the header X-Tidemill-Dashboard: 1.");
  if (site !== undefined ? site !== "same-origin" : !isOwnOrigin(headers.origin, headers.host, publicOrigin)) {
    throw refused("It came from another site.");
  }
}

function isOwnOrigin(origin: string | undefined, host: string | undefined, publicOrigin: string | null): boolean {
  if (origin === undefined || host === undefined) return false;
  return origin === `http://${host}` || origin === `https://${host}` || origin === publicOrigin;
}

const refused = (reason: string) => problem("FORBIDDEN", {}, { message: `This request of a page is refused. ${reason}` });
