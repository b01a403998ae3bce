import { createServer, createConnection, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

/** Messages of PostgreSQL that are part of a statement's answer; the answer is whole with the next `Z` (ready for query). */
const OF_AN_ANSWER = new Set(["1", "2", "C", "D", "I", "T", "n", "t"]);

interface Line {
  readonly node: Socket;
  readonly database: Socket;
}

/**
 * The wire between a node and its database, which a test can hold up or cut. It knows PostgreSQL's messages well enough to
 * lose the answer of one statement: it was carried out and committed, and the node will never know.
 */
export class Wire {
  readonly #server: Server;
  readonly #socket: string;
  readonly #database: string;
  readonly #lines = new Set<Line>();
  readonly #held: (() => void)[] = [];
  #holding = false;
  #cut: { tag: RegExp; done: () => void } | undefined;

  private constructor(socket: string, database: string) {
    this.#socket = socket;
    this.#database = database;
    this.#server = createServer((node) => this.#join(node));
  }

  /** @param host directory of the database's socket */
  static async to(host: string, port: number, database: string): Promise<Wire> {
    const wire = new Wire(`${host}/.s.PGSQL.${port}`, database);
    await new Promise<void>((resolve) => wire.#server.listen(0, "127.0.0.1", resolve));
    return wire;
  }

  /** What a node takes for its database. */
  url(host = "127.0.0.1"): string {
    return `postgres://tidemill@${host}:${(this.#server.address() as AddressInfo).port}/${this.#database}`;
  }

  /** Keeps back all that the database says. What the node asks still arrives and is carried out. */
  hold(): void {
    this.#holding = true;
  }

  /** Hands over what was kept back. */
  release(): void {
    this.#holding = false;
    for (const hand of this.#held.splice(0)) hand();
  }

  /** Breaks the connection of the next statement whose command tag matches ("UPDATE 5"), after its commit and before its answer. */
  cutAnswer(tag: RegExp): Promise<void> {
    return new Promise((done) => {
      this.#cut = { tag, done };
    });
  }

  /** Breaks every connection and takes no more. */
  async close(): Promise<void> {
    for (const line of this.#lines) this.#break(line);
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(node: Socket): void {
    const database = createConnection(this.#socket);
    const line = { node, database };
    this.#lines.add(line);
    for (const socket of [node, database]) {
      socket.setNoDelay();
      socket.on("error", () => this.#break(line));
      socket.on("close", () => this.#break(line));
    }
    node.on("data", (bytes: Buffer) => database.write(bytes));
    let rest: Buffer = Buffer.alloc(0);
    let answer: Buffer[] = [];
    let tags: string[] = [];
    database.on("data", (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      while (rest.length >= 5 && rest.length >= 1 + rest.readInt32BE(1)) {
        const message = rest.subarray(0, 1 + rest.readInt32BE(1));
        rest = rest.subarray(message.length);
        const type = String.fromCharCode(message[0] as number);
        if (type === "C") tags.push(message.toString("latin1", 5, message.length - 1));
        answer.push(message);
        if (OF_AN_ANSWER.has(type)) continue;
        const cut = this.#cut;
        if (type === "Z" && cut && tags.some((tag) => cut.tag.test(tag))) {
          this.#cut = undefined;
          this.#break(line);
          cut.done();
          return;
        }
        this.#hand(node, Buffer.concat(answer));
        answer = [];
        if (type === "Z") tags = [];
      }
    });
  }

  #hand(node: Socket, bytes: Buffer): void {
    if (this.#holding) this.#held.push(() => node.write(bytes));
    else node.write(bytes);
  }

  #break(line: Line): void {
    this.#lines.delete(line);
    line.node.destroy();
    line.database.destroy();
  }
}
