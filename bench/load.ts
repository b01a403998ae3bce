import { connect, type Socket } from "node:net";
import { onMessages } from "./framing.ts";

/** An HTTP request, and how many connections repeat it for how long. */
export interface Load {
  readonly port: number;
  readonly path: string;
  readonly key: string;
  readonly body: string;
  readonly connections: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly failures: number;
}

/**
 * Repeats a request over kept-alive connections. Each connection sends the next request when it has received a response. It writes and
 * reads the sockets directly, because an HTTP client would take as much processor time as the measured server.
 */
export async function load(options: Load): Promise<LoadResult> {
  const { port, path, key, body, seconds } = options;
  const request = Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  const counts = { requests: 0, failures: 0 };
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1000;
  await Promise.all(Array.from({ length: options.connections }, () => repeat(port, request, endMs, counts)));
  const took = (performance.now() - startedMs) / 1000;
  return { ...counts, seconds: took, perSecond: counts.requests / took };
}

function repeat(port: number, request: Buffer, endMs: number, counts: { requests: number; failures: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, "127.0.0.1", () => socket.write(request));
    socket.setNoDelay(true);
    socket.on("error", reject);
    onMessages(socket, (head) => {
      counts.requests += 1;
      if (!head.startsWith("HTTP/1.1 2")) counts.failures += 1;
      if (performance.now() < endMs) {
        socket.write(request);
        return;
      }
      socket.end();
      resolve();
    });
  });
}
