import { ONLY_POST, type Serve } from "./serve.ts";

/** A request of Node. */
export interface NodeRequest extends AsyncIterable<unknown> {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A response of Node. */
export interface NodeResponse {
  readonly writableEnded: boolean;
  readonly headersSent?: boolean;
  readonly destroyed?: boolean;
  on(event: "close", listener: () => void): unknown;
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(text?: string): unknown;
}

/** The largest body that the service sends is smaller. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * A listener for `node:http`.
 *
 * ```ts
 * createServer(nodeHandler(handler)).listen(3000);
 * ```
 */
export const nodeHandler =
  (serve: Serve) =>
  (request: NodeRequest, response: NodeResponse): Promise<void> =>
    handled(request, response, async () => {
      const body = await readBody(request);
      if (body) await respond(serve, request, body, response);
      else refuse(response, 413, `The body exceeds ${MAX_BODY_BYTES} bytes.`);
    });

/**
 * A handler for Express. It reads the body itself, or takes what `express.raw()` has read. Mount it before `express.json()`, which would
 * parse the body.
 *
 * ```ts
 * app.post("/tidemill", expressHandler(handler));
 * ```
 */
export const expressHandler = (serve: Serve) => {
  const handle = nodeHandler(serve);
  return (request: NodeRequest & { readonly body?: unknown }, response: NodeResponse): Promise<void> => {
    const { body } = request;
    if (body === undefined) return handle(request, response);
    return handled(request, response, async () => {
      if (body instanceof Uint8Array) await respond(serve, request, body as Uint8Array<ArrayBuffer>, response);
      else refuse(response, 500, "The body was parsed before. Mount the handler before express.json().");
    });
  };
};

/** A method of a Fastify instance, whatever its types. */
type Method = (...given: never[]) => unknown;

/** The methods of a Fastify instance that the plugin calls. */
export interface FastifyMethods {
  readonly removeContentTypeParser: Method;
  readonly addContentTypeParser: Method;
  readonly post: Method;
}

interface FastifyReply {
  readonly raw: NodeResponse;
  code(status: number): FastifyReply;
  headers(headers: Record<string, string>): FastifyReply;
  send(text: string): unknown;
}

/** The same as the plugin calls them. */
interface Fastify {
  removeContentTypeParser(type: string): unknown;
  addContentTypeParser(
    type: string,
    options: { parseAs: "buffer" },
    parser: (request: unknown, body: unknown, done: (error: Error | null, body: unknown) => void) => void,
  ): unknown;
  post(
    path: string,
    options: { bodyLimit: number },
    handler: (request: { headers: NodeRequest["headers"]; body: Uint8Array<ArrayBuffer> }, reply: FastifyReply) => unknown,
  ): unknown;
}

/**
 * A plugin for Fastify. Other routes keep their JSON parser.
 *
 * ```ts
 * await app.register(fastifyPlugin(handler, { path: "/tidemill" }));
 * ```
 */
export const fastifyPlugin =
  (serve: Serve, { path }: { readonly path: string }) =>
  async (instance: FastifyMethods): Promise<void> => {
    const fastify = instance as unknown as Fastify;
    fastify.removeContentTypeParser("application/json");
    fastify.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    fastify.post(path, { bodyLimit: MAX_BODY_BYTES }, async ({ headers, body }, reply) => {
      const { status, headers: answered, text } = await call(serve, headers, body, reply.raw);
      return reply.code(status).headers(answered).send(text);
    });
  };

/**
 * A handler for Hono.
 *
 * ```ts
 * app.post("/tidemill", honoHandler(handler));
 * ```
 */
export const honoHandler =
  (serve: Serve) =>
  (context: { readonly req: { readonly raw: Request } }): Promise<Response> =>
    serve(context.req.raw);

/**
 * The route handlers for a Next application, for example in `app/api/tidemill/route.ts`.
 *
 * ```ts
 * export const { POST } = nextHandler(handler);
 * ```
 */
export const nextHandler = (serve: Serve): { readonly POST: (request: Request) => Promise<Response> } => ({
  POST: (request) => serve(request),
});

const JSON_TYPE = { "content-type": "application/json" };

/** Handles a request. Never rejects: an unhandled rejection would end the Node process. */
async function handled({ method = "POST" }: NodeRequest, response: NodeResponse, handle: () => Promise<void>): Promise<void> {
  if (method !== "POST") return refuse(response, 405, ONLY_POST);
  try {
    await handle();
  } catch {
    refuse(response, 400, "The request could not be read.");
  }
}

/** The body as it arrived; null when it is too long. */
async function readBody(request: NodeRequest): Promise<Uint8Array<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += (chunk as Uint8Array).length;
    if (length > MAX_BODY_BYTES) return null;
    chunks.push(chunk as Uint8Array);
  }
  return joined(chunks, length);
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

async function respond(serve: Serve, { headers }: NodeRequest, body: Uint8Array<ArrayBuffer>, response: NodeResponse): Promise<void> {
  const { status, headers: answered, text } = await call(serve, headers, body, response);
  write(response, status, answered, text);
}

const refuse = (response: NodeResponse, status: number, message: string): void =>
  write(response, status, JSON_TYPE, JSON.stringify({ error: { message } }));

function write(response: NodeResponse, status: number, headers: Record<string, string>, text: string): void {
  // The client is gone, or something else has responded.
  if (response.destroyed || response.headersSent || response.writableEnded) return;
  response.writeHead(status, headers);
  response.end(text);
}

/** Passes a request on. It is aborted if the client disconnects before it has its response. */
async function call(
  serve: Serve,
  headers: NodeRequest["headers"],
  body: Uint8Array<ArrayBuffer>,
  response: NodeResponse,
): Promise<{ status: number; headers: Record<string, string>; text: string }> {
  const gone = new AbortController();
  response.on("close", () => {
    if (!response.writableEnded) gone.abort();
  });
  const given = Object.entries(headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value] as [string, string]] : []));
  const request = new Request("http://localhost/", { method: "POST", headers: given, signal: gone.signal, body });
  const responded = await serve(request);
  return { status: responded.status, headers: Object.fromEntries(responded.headers), text: await responded.text() };
}
