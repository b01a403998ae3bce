import type { FastifyReply, FastifyRequest } from "fastify";
import type { Api } from "#http";
import { notFound, type Random } from "#kernel";
import { chooseEncoding } from "./choose-encoding.ts";
import { renderDocument, wayToRoot } from "./document.ts";
import { contentSecurityPolicy, PAGE_HEADERS } from "./headers.ts";
import { type PageFile, type Pages, readPages } from "./read-pages.ts";

const PREFIX = "/dashboard";
const NONCE_BYTES = 16;

/** Paths under the prefix that are not pages: unknown paths there are errors of an API, not a document. */
const NOT_PAGES = /^(api|auth|assets)(\/|$)/;

const HIDDEN = { schema: { hide: true } as object };

/** `GET /dashboard/…`: the pages, which are one document, and their files. */
export function mountPages(api: Api, random: Random): void {
  let reading: Promise<Pages> | null = null;
  const pages = () => {
    reading ??= readPages().catch((error) => {
      reading = null;
      throw error;
    });
    return reading;
  };

  // Relative, because a proxy may have removed a prefix.
  api.get(PREFIX, HIDDEN, (_request, reply) => reply.headers(PAGE_HEADERS).redirect("dashboard/", 308));

  api.get(`${PREFIX}/assets/:name`, HIDDEN, async (request, reply) => {
    const file = (await pages()).files.get((request.params as { name: string }).name);
    if (!file) throw unknownPath(request);
    return sendFile(file, request, reply);
  });

  api.get(`${PREFIX}/*`, HIDDEN, async (request, reply) => {
    const root = wayToRoot(request.url);
    if (root === null || NOT_PAGES.test((request.params as { "*": string })["*"])) throw unknownPath(request);
    const { document } = await pages();
    const nonce = random.bytes(NONCE_BYTES).toString("base64");
    return reply
      .headers({ ...PAGE_HEADERS, "Content-Security-Policy": contentSecurityPolicy(nonce) })
      .type("text/html; charset=utf-8")
      .send(renderDocument(document, { nonce, root }));
  });
}

function sendFile({ type, etag, plain, ...compressed }: PageFile, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const accepted = chooseEncoding(headers["accept-encoding"]);
  const encoding = accepted !== null && compressed[accepted] ? accepted : null;
  const tag = `"${etag}${encoding === null ? "" : `-${encoding}`}"`;
  void reply.headers({ ...PAGE_HEADERS, ETag: tag, Vary: "Accept-Encoding", "Cache-Control": "public, max-age=31536000, immutable" });
  if (headers["if-none-match"]?.includes(tag)) return reply.code(304).send();
  if (encoding !== null) void reply.header("Content-Encoding", encoding);
  return reply.type(type).send((encoding && compressed[encoding]) ?? plain);
}

function unknownPath({ method, url }: FastifyRequest) {
  const [path = ""] = url.split("?");
  return notFound({ resource: "route", method, path, suggestion: null });
}
