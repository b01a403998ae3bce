import http from "node:http";
import net from "node:net";
import type { Reply } from "./service.ts";

/** A request as it goes out: its path and body are sent as they are, byte for byte. */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

/** Sends a request over HTTP with nothing added, normalised or checked on the way, as fetch would do. */
export function exchange(url: string, { method, path, headers = {}, body }: Request): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const length = body === undefined || headers["transfer-encoding"] ? {} : { "content-length": Buffer.byteLength(body) };
    const request = http.request({ hostname, port, method, path, headers: { ...length, ...headers }, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: new Headers(response.headersDistinct as never), text, body: parsed(text) });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** Writes bytes to a new connection and answers all that comes back until the service closes it. */
export function speak(url: string, bytes: string | Buffer, { thenEnd = false } = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const chunks: Buffer[] = [];
    const socket = net.connect(Number(port), hostname, () => (thenEnd ? socket.end(bytes) : socket.write(bytes)));
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", reject);
    socket.on("close", () => resolve(readReply(Buffer.concat(chunks).toString("utf8"))));
  });
}

function readReply(received: string): Reply {
  const [head = "", ...rest] = received.split("\r\n\r\n");
  const [start = "", ...lines] = head.split("\r\n");
  const text = rest.join("\r\n\r\n");
  const headers = new Headers(lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]));
  return { status: Number(start.split(" ")[1] ?? 0), headers, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
