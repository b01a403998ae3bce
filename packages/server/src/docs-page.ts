import type { FastifyReply, FastifyRequest } from "fastify";
import type { Api } from "#http";
import { notFound } from "#kernel";

const PREFIX = "/docs";

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
  await api.register(async (page) => {
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

/** Paths that leave the directory of files, and malformed ones, name nothing. The module that serves files has other errors for them. */
function refuseFile(error: Error & { statusCode?: number }, { method, url }: FastifyRequest): never {
  const { statusCode = 500 } = error;
  const [path = ""] = url.split("?");
  if (statusCode >= 400 && statusCode < 500) throw notFound({ resource: "route", method, path, suggestion: null });
  throw error;
}

const LOGO = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="150" height="40"><text x="0" y="28" font-family="sans-serif" font-size="26" fill="#fff">Tidemill</text></svg>',
);
