import { connect, type Socket } from "node:net";
import { Database } from "../../packages/server/src/kernel/index.ts";
import type { Environment } from "../environment.ts";

/** Whom an attack belongs to and where it goes. */
export interface AttackerOptions {
  readonly urls: readonly string[];
  readonly key: string;
  /** The id of the workspace in the database. */
  readonly workspaceId: string;
  readonly connection: Environment["connection"];
}

export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** One workspace with a key, as an attack uses it. Requests go to each node in turn, and are counted by their status. */
export class Attacker {
  readonly workspaceId: string;
  readonly database: Database;
  counts: Record<string, number> = {};
  readonly #options: AttackerOptions;
  #sent = 0;

  constructor(options: AttackerOptions) {
    this.#options = options;
    this.workspaceId = options.workspaceId;
    this.database = new Database({ connection: options.connection, size: 2, statementTimeoutMs: 600_000 });
  }

  /** Sends a request of an attack. Every response counts, and so does none. */
  async send(method: string, path: string, body?: unknown, key = this.#options.key): Promise<Reply> {
    const url = new URL(path, this.#nextUrl());
    try {
      const response = await fetch(url, {
        method,
        headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { "content-type": "application/json" }) },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      this.count(String(response.status));
      return { status: response.status, text };
    } catch (error) {
      const { code, message } = ((error as Error).cause ?? error) as { code?: string; message: string };
      this.count(code ?? message);
      return { status: 0, text: message };
    }
  }

  /** Sends a request of the preparation, which must succeed. */
  async must<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const { status, text } = await this.send(method, path, body);
    if (status < 200 || status > 299) throw new Error(`${method} ${path} returned ${status}: ${text.slice(0, 300)}`);
    return (text === "" ? undefined : JSON.parse(text)) as Body;
  }

  /** Opens a connection to a node, and sends the head of a request with the workspace's key. */
  open(requestLine: string, headers = ""): Socket {
    const socket = this.connect();
    socket.write(`${requestLine} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${this.#options.key}\r\n${headers}\r\n`);
    return socket;
  }

  /** Opens a connection to a node, and sends nothing. */
  connect(): Socket {
    const { hostname, port } = new URL(this.#nextUrl());
    const socket = connect(Number(port), hostname);
    socket.on("error", (error: NodeJS.ErrnoException) => this.count(error.code ?? error.message));
    return socket;
  }

  /** What came before does not count. */
  forgetCounts(): void {
    this.counts = {};
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  #nextUrl(): string {
    this.#sent += 1;
    return this.#options.urls[this.#sent % this.#options.urls.length] ?? "";
  }
}

/** Runs `work` up to `times` times, at most `inOneStatement` of them at once. */
export async function repeat(times: number, inOneStatement: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < times) {
      const index = next;
      next += 1;
      await work(index);
    }
  };
  await Promise.all(Array.from({ length: inOneStatement }, lane));
}
