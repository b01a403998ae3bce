import type { SignedContent } from "./signature.ts";

/** A request of the Fetch API: of Next, Hono, Bun, Deno, Cloudflare Workers. */
export interface FetchRequest {
  readonly headers: { get(name: string): string | null };
  readonly bodyUsed?: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** The headers of a request and its body as it arrived, before any parser. For Node, Express and Fastify. */
export interface RawRequest {
  readonly headers: { get(name: string): string | null } | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Undefined for a request without a body. No genuine request lacks one. */
  readonly body: string | Uint8Array | ArrayBuffer | null | undefined;
}

/** Names of the headers that a signature needs. */
interface HeaderNames {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
}

/**
 * Reads the parts of a request that its signature covers. A request that lacks a header is not genuine, so its body is not read.
 *
 * @throws {TypeError} when it is not a request, or when its body was read or parsed before
 */
export async function contentOf(request: FetchRequest | RawRequest, names: HeaderNames): Promise<SignedContent> {
  if (typeof request !== "object" || typeof request?.headers !== "object" || request.headers === null)
    throw new TypeError("A request to verify is a Request of the Fetch API, or { headers, body } of one as it arrived.");
  const id = headerOf(request, names.id);
  const timestamp = headerOf(request, names.timestamp);
  const signature = headerOf(request, names.signature);
  const body = id && timestamp && signature ? await bodyOf(request) : new Uint8Array();
  return { id, timestamp, signature, body };
}

/** Reads a header by its name, ignoring case. A header that occurs twice is not read. */
function headerOf({ headers }: FetchRequest | RawRequest, name: string): string | null {
  if (typeof headers.get === "function") return headers.get(name);
  const wanted = name.toLowerCase();
  const [value, ...more] = Object.entries(headers).flatMap(([key, given]) =>
    key.toLowerCase() === wanted && given !== undefined ? given : [],
  );
  return value === undefined || more.length > 0 ? null : value;
}

async function bodyOf(request: FetchRequest | RawRequest): Promise<Uint8Array> {
  if ("arrayBuffer" in request) {
    if (request.bodyUsed) throw new TypeError("The request's body was read before. Verify the callback first, or pass { headers, body }.");
    return new Uint8Array(await request.arrayBuffer());
  }
  const { body } = request;
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  // Parsers leave out the body of a request that has none: its framing says so (RFC 9112, section 6.3).
  const isEmpty = headerOf(request, "transfer-encoding") === null && (headerOf(request, "content-length") ?? "0") === "0";
  if ((body === undefined || body === null) && isEmpty) return new Uint8Array();
  throw new TypeError("body must be the body as it arrived: a string or bytes. A parsed body cannot be verified.");
}
