import http from "node:http";
import net from "node:net";
import { isEndless, type Reply } from "./ask.ts";

/** A request whose path, headers and body are sent unchanged, byte for byte. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

/** Sends a request unchanged. `fetch` would add, normalise and check things. */
export function sendRaw(url: string, { method, path, headers = {}, body }: RawRequest): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const length = body === undefined || headers["transfer-encoding"] ? {} : { "content-length": Buffer.byteLength(body) };
    const request = http.request({ hostname, port, method, path, headers: { ...length, ...headers }, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      const pairs = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      const received = new Headers(pairs);
      const finish = () => resolve(replyOf(response.statusCode ?? 0, received, Buffer.concat(chunks)));
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if (!isEndless(path, received)) return;
        finish();
        request.destroy();
      });
      response.on("error", reject);
      response.on("end", finish);
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** Writes bytes to a new connection. Returns what the service sent until it closed the connection. */
export function sendBytes(url: string, bytes: string | Buffer, { hangUp = false } = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const chunks: Buffer[] = [];
    const socket = net.connect(Number(port), hostname, () => (hangUp ? socket.end(bytes) : socket.write(bytes)));
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", reject);
    socket.on("close", () => {
      const received = Buffer.concat(chunks);
      const end = received.indexOf("\r\n\r\n");
      const [start = "", ...lines] = received.toString("latin1", 0, Math.max(end, 0)).split("\r\n");
      const pairs = lines.map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
      resolve(replyOf(Number(start.split(" ")[1] ?? 0), new Headers(pairs), received.subarray(end + 4)));
    });
  });
}

function replyOf(status: number, headers: Headers, bytes: Buffer): Reply {
  const text = bytes.toString("utf8");
  const isJson = /json/.test(headers.get("content-type") ?? "") && text !== "";
  return { status, headers, text, body: isJson ? JSON.parse(text) : undefined };
}
