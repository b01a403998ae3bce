/** A request, whole. */
interface HttpRequestToSend {
  readonly method: string;
  readonly server: HttpServer;
  /** Path below that of the server, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Ends it without a response. */
  readonly until: { onAbort(end: () => void): void };
}

/** Where requests go, in the parts that `node:http` takes. It would take a URL apart for each request. */
export interface HttpServer {
  readonly protocol: string;
  readonly hostname: string;
  /** Undefined: that of the protocol. */
  readonly port: string | undefined;
  /** Prefix of the path of each request. */
  readonly path: string;
}

/** @param url without a query */
export function httpServerOf(url: string): HttpServer {
  const { protocol, hostname, port, pathname } = new URL(url);
  // An IPv6 address is in brackets in URLs only.
  return { protocol, hostname: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? undefined : port, path: pathname.replace(/\/+$/, "") };
}

/** The part of a response before its body. */
export interface ResponseHead {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
}

export interface WholeResponse extends ResponseHead {
  readonly body: string;
}

/** Sends a request and reads its response. Redirects are not followed. */
export type SendWhole = (request: HttpRequestToSend) => Promise<WholeResponse>;

/** The parts of `node:http` that are used. */
interface Http {
  readonly Agent: new (options: { keepAlive: boolean }) => object;
  request(options: object, onResponse: (response: Incoming) => void): Outgoing;
}

interface Outgoing {
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "socket", listener: (socket: Socket) => void): void;
  end(body?: string): void;
  destroy(error: Error): void;
}

interface Incoming {
  readonly statusCode?: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  setEncoding(encoding: "utf8"): void;
  on(event: "data", listener: (text: string) => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "end", listener: () => void): void;
}

interface Socket {
  readonly connecting: boolean;
  once(event: "connect" | "secureConnect" | "close", listener: () => void): void;
}

interface Host {
  readonly process?: { getBuiltinModule?(name: string): Http | undefined };
  readonly navigator?: { readonly userAgent?: string };
  readonly Bun?: unknown;
  readonly Deno?: unknown;
}

/** How long a connection may take to open, as with `fetch`. Milliseconds. */
const CONNECT_MS = 10_000;

/** `code` of the error of a connection that took longer. */
export const CONNECT_TIMEOUT = "CONNECT_TIMEOUT";

const builtinFetch = globalThis.fetch;

/** Null where there is no Node; undefined until the first request. */
let sender: SendWhole | null | undefined;

/**
 * Sends with `node:http`, which needs a third of the processor time of `fetch`. Null where there is no Node, and while something has
 * replaced the runtime's `fetch`: it expects to see all requests.
 */
export function nodeHttp(): SendWhole | null {
  if (sender === undefined) sender = openSender();
  return globalThis.fetch === builtinFetch ? sender : null;
}

function openSender(): SendWhole | null {
  const { process, navigator, Bun, Deno } = globalThis as Host;
  const isNode = Bun === undefined && Deno === undefined && (navigator?.userAgent?.startsWith("Node.js/") ?? true);
  const [http, https] = ["node:http", "node:https"].map((name) => (isNode ? process?.getBuiltinModule?.(name) : undefined));
  if (!http || !https) return null;
  const [plain, encrypted] = [senderOf(http, "connect"), senderOf(https, "secureConnect")];
  return (request) => (request.server.protocol === "https:" ? encrypted : plain)(request);
}

function senderOf({ Agent, request: open }: Http, opened: "connect" | "secureConnect"): SendWhole {
  // It also has the kernel probe idle connections each second, so that a call that waits fails 11 s after its node has vanished.
  const agent = new Agent({ keepAlive: true });
  return ({ method, server: { protocol, hostname, port, path: base }, path, headers, body, until }) =>
    new Promise((resolve, reject) => {
      const options = { protocol, hostname, port, path: base + path, method, headers, agent };
      const request = open(options, (response) => readWhole(response).then(resolve, reject));
      request.on("error", reject);
      until.onAbort(() => request.destroy(new Error("The request was ended.")));
      request.on("socket", (socket) => {
        if (!socket.connecting) return;
        const late = () => request.destroy(Object.assign(new Error(`No connection in ${CONNECT_MS} ms.`), { code: CONNECT_TIMEOUT }));
        const timer = setTimeout(late, CONNECT_MS);
        const end = () => clearTimeout(timer);
        socket.once(opened, end);
        socket.once("close", end);
      });
      request.end(body);
    });
}

const readWhole = (response: Incoming): Promise<WholeResponse> =>
  new Promise((resolve, reject) => {
    const { statusCode: status = 0, headers } = response;
    let body = "";
    response.setEncoding("utf8");
    response.on("data", (text) => {
      body += text;
    });
    response.on("error", reject);
    response.on("end", () => {
      const get = (name: string) => headers[name]?.toString() ?? null;
      resolve({ status, ok: status >= 200 && status < 300, headers: { get }, body });
    });
  });
