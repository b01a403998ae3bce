import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** A TCP server that reads HTTP requests and responds with any bytes that a test writes. */
export class RawServer {
  /** The text of each request, head and body, as Latin-1. */
  readonly requests: string[] = [];
  connections = 0;
  /** Connections that have closed. */
  left = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(answer: (socket: Socket, request: string) => void) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      this.connections += 1;
      let text = "";
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        this.left += 1;
      });
      socket.on("data", (bytes) => {
        text += bytes.toString("latin1");
        const [head = "", body] = text.split("\r\n\r\n", 2);
        const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
        if (body === undefined || body.length < length) return;
        const request = text;
        this.requests.push(request);
        text = "";
        answer(socket, request);
      });
    });
  }

  static async listen(answer: (socket: Socket, request: string) => void): Promise<RawServer> {
    const server = new RawServer(answer);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/callback`;
  }

  closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.closeConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Writes the same piece repeatedly, as fast as the other side reads, until the connection closes. */
export function pourForever(socket: Socket, piece: string): void {
  const pour = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", pour);
  pour();
}

/** Returns a port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = await RawServer.listen(() => {});
  const { port } = server;
  await server.close();
  return port;
}
