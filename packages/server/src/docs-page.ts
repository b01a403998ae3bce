import type { FastifyReply, FastifyRequest } from "fastify";
import type { Api } from "#http";
import { notFound, type ProblemError } from "#kernel";
import { readDocsFiles } from "./docs-files.ts";

const PREFIX = "/docs";
/** The route by which the module would send its files from disk. */
const FILES_ROUTE = `${PREFIX}/static/*`;

/** The page has no inline scripts. Swagger UI writes inline styles, and pictures as data URLs. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};

/** Mounts the page that shows the OpenAPI document to people. It keeps keys only until it is closed. */
export async function mountDocsPage(api: Api): Promise<void> {
  const { default: swaggerUi } = await import("@fastify/swagger-ui");
  const files = await readDocsFiles();
  await api.register(async (page) => {
    page.addHook("preHandler", (request, reply, done) => {
      if (request.routeOptions.url !== FILES_ROUTE) return done();
      const file = files.get((request.params as Record<string, string>)["*"] ?? "");
      if (!file) return done(unknownFile(request));
      void reply.type(file.type).send(file.content);
    });
    page.addHook("onSend", async (_request: FastifyRequest, reply: FastifyReply) => {
      reply.headers(HEADERS);
    });
    page.setErrorHandler(refuseFile);
    await page.register(swaggerUi, {
      routePrefix: PREFIX,
      uiConfig: { url: "/doc", persistAuthorization: false },
      theme: { title: "Tidemill" },
      logo: { type: "image/svg+xml", content: LOGO, href: `${PREFIX}/`, target: "_self" },
    });
  });
}

/** Paths that leave the directory of files, and malformed paths, name no file. The module that serves files has other errors for them. */
function refuseFile(error: Error & { statusCode?: number }, request: FastifyRequest): never {
  const { statusCode = 500 } = error;
  throw statusCode >= 400 && statusCode < 500 ? unknownFile(request) : error;
}

function unknownFile({ method, url }: FastifyRequest): ProblemError {
  const [path = ""] = url.split("?");
  return notFound({ resource: "route", method, path, suggestion: null });
}

const LOGO = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="150" height="40"><text x="0" y="28" font-family="sans-serif" font-size="26" fill="#fff">Tidemill</text></svg>',
);
