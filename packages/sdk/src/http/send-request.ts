import type { Deadline } from "../deadline.ts";
import { readVariable } from "../environment.ts";
import { Connection } from "./connection.ts";
import { isHeaderValue } from "./header-value.ts";
import { isNodeFetch, type NodeModules, nodeModule, type Socket } from "./node.ts";
import type { WholeResponse } from "./response-parser.ts";
import type { ServerAddress } from "./server-address.ts";

/** A request, whole. */
interface RequestToSend {
  readonly method: string;
  readonly server: ServerAddress;
  /** Path below that of the server, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Ends it without a response. */
  readonly deadline: Pick<Deadline, "onAbort">;
}

/** Sends a request and reads its response. Redirects are not followed. */
export type SendRequest = (request: RequestToSend) => Promise<WholeResponse>;

/** Idle connections to one server that stay open. */
const MAX_IDLE = 256;

/** What tools subscribe to in order to see requests of `fetch`. */
const FETCH_CHANNEL = "undici:request:create";

interface Sender {
  readonly send: SendRequest;
  /** Whether requests have to be sent by `fetch` for now. */
  mustFetch(): boolean;
}

/** Null where there is no Node; undefined until the first request. */
let sender: Sender | null | undefined;

/** The `fetch` that was looked at last, and whether it is that of Node. */
let known: { readonly fetch: unknown; readonly isNodes: boolean } = { fetch: undefined, isNodes: false };

/**
 * Sends over connections of its own, which needs a fraction of the processor time of `fetch` (decision 84). Null where there is no Node,
 * where a proxy is set for all requests, and while something expects to see all requests: something that has replaced `fetch`, or that
 * subscribes to its requests.
 */
export function nodeSender(): SendRequest | null {
  if (sender === undefined) sender = openSender();
  return sender && isFetchOfNode() && !sender.mustFetch() ? sender.send : null;
}

function isFetchOfNode(): boolean {
  const { fetch } = globalThis;
  if (known.fetch !== fetch) known = { fetch, isNodes: isNodeFetch(fetch) };
  return known.isNodes;
}

function openSender(): Sender | null {
  const [net, tls, http] = [nodeModule("node:net"), nodeModule("node:tls"), nodeModule("node:http")];
  const [buffer, diagnostics] = [nodeModule("node:buffer"), nodeModule("node:diagnostics_channel")];
  if (!net || !tls || !http || !buffer || !diagnostics) return null;
  const fetches = diagnostics.channel(FETCH_CHANNEL);
  const { byteLength } = buffer.Buffer;
  const servers = new Map<string, Connections>();
  // An agent of another package is there to send requests elsewhere.
  const hasProxy = () => http.globalAgent.constructor !== http.Agent || http.globalAgent.options?.proxyEnv !== undefined;
  // Some versions of Node set a proxy for `fetch` only.
  const fetchHasProxy = readVariable("NODE_USE_ENV_PROXY") === "1";
  return {
    mustFetch: () => fetchHasProxy || fetches.hasSubscribers || hasProxy(),
    async send(request) {
      const { server, deadline } = request;
      // Before it takes a connection: a header may be refused.
      const text = textOf(request, byteLength);
      const origin = `${server.isEncrypted} ${server.hostname} ${server.port}`;
      let connections = servers.get(origin);
      if (!connections) {
        connections = new Connections(server, net, tls);
        servers.set(origin, connections);
      }
      return connections.take().send(text, deadline);
    },
  };
}

/** The connections to one server. */
class Connections {
  readonly #server: ServerAddress;
  readonly #net: NodeModules["node:net"];
  readonly #tls: NodeModules["node:tls"];
  /** The newest is the last, and the first that is used. */
  readonly #idle: Connection[] = [];

  constructor(server: ServerAddress, net: NodeModules["node:net"], tls: NodeModules["node:tls"]) {
    this.#server = server;
    this.#net = net;
    this.#tls = tls;
  }

  /** A connection that nothing uses. */
  take(): Connection {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (!idle.hasExpired) return idle;
      idle.close();
    }
    return new Connection(this.#open(), this.#server.isEncrypted ? "secureConnect" : "connect", {
      onFree: (connection) => {
        if (this.#idle.length < MAX_IDLE) this.#idle.push(connection);
        else connection.close();
      },
      onClose: (connection) => {
        const at = this.#idle.indexOf(connection);
        if (at >= 0) this.#idle.splice(at, 1);
      },
    });
  }

  #open(): Socket {
    const { isEncrypted, hostname: host, port } = this.#server;
    if (!isEncrypted) return this.#net.connect({ host, port });
    const isAddress = this.#net.isIP(host) !== 0;
    return this.#tls.connect({ host, port, ALPNProtocols: ["http/1.1"], ...(!isAddress && { servername: host }) });
  }
}

/** Methods whose requests usually have no body. Others say that they have none: some proxies refuse them otherwise. */
const BODILESS = new Set(["GET", "DELETE"]);
const PATH = /^[\x21-\x7e]+$/;

/** @throws {TypeError} if the path or a header has characters that HTTP does not allow there */
function textOf({ method, server, path, headers, body }: RequestToSend, byteLength: (text: string) => number): string {
  const whole = server.path + path;
  if (!PATH.test(whole)) throw new TypeError("A path has characters that are not allowed.");
  let head = `${method} ${whole} HTTP/1.1\r\nhost: ${server.host}\r\n`;
  for (const name in headers) {
    const value = headers[name] as string;
    if (!isHeaderValue(value)) throw new TypeError(`The header ${name} has characters that are not allowed.`);
    head += `${name}: ${value}\r\n`;
  }
  if (body === undefined) return BODILESS.has(method) ? `${head}\r\n` : `${head}content-length: 0\r\n\r\n`;
  return `${head}content-length: ${byteLength(body)}\r\n\r\n${body}`;
}
