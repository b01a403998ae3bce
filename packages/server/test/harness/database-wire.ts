import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";
import { messages, text } from "./postgres-messages.ts";

/** A statement that was carried out: its text and PostgreSQL's word for what it did ("UPDATE 5"). */
interface Done {
  readonly text: string;
  readonly tag: string;
}

type Matches = (done: Done) => boolean;

/** Messages of PostgreSQL that are part of a statement's answer; the answer is whole with the next `Z` (ready for query). */
const OF_AN_ANSWER = new Set(["1", "2", "C", "D", "I", "T", "n", "t"]);

/**
 * The wire between a node and its database, which a test can hold up or cut. It knows PostgreSQL's messages well enough to
 * lose the answer of one statement: it was carried out and committed, and the node will never know.
 */
export class Wire {
  readonly #server: Server;
  readonly #socket: string;
  readonly #database: string;
  readonly #lines = new Set<Line>();
  #holdsResponses = false;
  #holdsRequests = false;
  #trap: { matches: Matches; spring: (line: Line) => void } | undefined;

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
  holdResponses(): void {
    this.#holdsResponses = true;
  }

  /** Keeps back all that the node says. */
  holdRequests(): void {
    this.#holdsRequests = true;
  }

  /** Hands over what was kept back, and all that follows. */
  release(): void {
    this.#holdsResponses = false;
    this.#holdsRequests = false;
    for (const line of this.#lines) line.release();
  }

  /** Breaks the connection of the next statement that matches after its commit and before its answer. */
  cutResponse(matches: Matches): Promise<void> {
    return this.#set(matches, (line) => line.break());
  }

  /** Holds answers from that of the next statement on that matches: it was carried out, and the node does not know. */
  holdResponsesFrom(matches: Matches): Promise<void> {
    return this.#set(matches, () => this.holdResponses());
  }

  /** Breaks every connection and takes no more. */
  async close(): Promise<void> {
    for (const line of this.#lines) line.break();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  #set(matches: Matches, act: (line: Line) => void): Promise<void> {
    return new Promise((resolve) => {
      const spring = (line: Line) => {
        this.#trap = undefined;
        act(line);
        resolve();
      };
      this.#trap = { matches, spring };
    });
  }

  #join(node: Socket): void {
    const line: Line = new Line(node, createConnection(this.#socket), {
      onDone: (done) => {
        if (this.#trap?.matches(done)) this.#trap.spring(line);
      },
      onEnd: () => this.#lines.delete(line),
      holdsResponses: () => this.#holdsResponses,
      holdsRequests: () => this.#holdsRequests,
    });
    this.#lines.add(line);
  }
}

/** One connection of the node, and the one to the database that stands for it. */
class Line {
  readonly #node: Socket;
  readonly #database: Socket;
  readonly #onEnd: () => void;
  readonly #held: (() => void)[] = [];
  readonly #texts = new Map<string, string>();
  #text = "";
  #broken = false;

  constructor(
    node: Socket,
    database: Socket,
    wire: { onDone: (done: Done) => void; onEnd: () => void; holdsResponses: () => boolean; holdsRequests: () => boolean },
  ) {
    this.#node = node;
    this.#database = database;
    this.#onEnd = wire.onEnd;
    for (const socket of [node, database]) {
      socket.setNoDelay();
      socket.on("error", () => this.break());
      socket.on("close", () => this.break());
    }
    let tag = "";
    let answer: Buffer[] = [];
    const questions = messages(true, (type, message) => this.#learn(type, message));
    const answers = messages(false, (type, message) => {
      answer.push(message);
      if (type === "C") tag = text(message, 5);
      if (OF_AN_ANSWER.has(type)) return;
      if (type === "Z" && tag !== "") wire.onDone({ text: this.#text, tag });
      this.#pass(node, Buffer.concat(answer), wire.holdsResponses());
      answer = [];
      if (type === "Z") tag = "";
    });
    node.on("data", (bytes: Buffer) => {
      questions(bytes);
      this.#pass(database, bytes, wire.holdsRequests());
    });
    database.on("data", answers);
  }

  release(): void {
    for (const pass of this.#held.splice(0)) pass();
  }

  break(): void {
    if (this.#broken) return;
    this.#broken = true;
    this.#node.destroy();
    this.#database.destroy();
    this.#onEnd();
  }

  #pass(to: Socket, bytes: Buffer, held: boolean): void {
    if (held || this.#held.length > 0) this.#held.push(() => to.write(bytes));
    else if (!this.#broken) to.write(bytes);
  }

  /** Remembers which text the statement has that is run now: by itself (Q), or prepared under a name (P) and bound (B). */
  #learn(type: string, message: Buffer): void {
    if (type === "Q") this.#text = text(message, 5);
    if (type === "P") this.#texts.set(text(message, 5), text(message, 6 + text(message, 5).length));
    if (type === "B") this.#text = this.#texts.get(text(message, 6 + text(message, 5).length)) ?? "";
  }
}
