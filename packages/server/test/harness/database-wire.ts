import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";
import { messages, text } from "./postgres-messages.ts";

/** An executed statement: its text, and PostgreSQL's command tag ("UPDATE 5"). */
interface Done {
  readonly text: string;
  readonly tag: string;
}

type Matches = (done: Done) => boolean;
type MatchesOn = (done: Done, link: Link) => boolean;

/** Types of PostgreSQL's messages that are part of a response. The next `Z` (ready for query) completes the response. */
const PART_OF_RESPONSE = new Set(["1", "2", "C", "D", "I", "T", "n", "t"]);

/**
 * A proxy between a node and its database. A test can delay the traffic, or break connections. It reads PostgreSQL's messages, so that
 * it can lose the response to one statement: the database has committed it, and the node never learns this.
 */
export class Wire {
  readonly #server: Server;
  readonly #socket: string;
  readonly #database: string;
  readonly #links = new Set<Link>();
  #holdsResponses = false;
  #holdsRequests = false;
  #trap: { matches: MatchesOn; spring: (link: Link) => void } | undefined;

  private constructor(socket: string, database: string) {
    this.#socket = socket;
    this.#database = database;
    this.#server = createServer((node) => this.#connect(node));
  }

  /** @param host directory of the database's socket */
  static async to(host: string, port: number, database: string): Promise<Wire> {
    const wire = new Wire(`${host}/.s.PGSQL.${port}`, database);
    await new Promise<void>((resolve) => wire.#server.listen(0, "127.0.0.1", resolve));
    return wire;
  }

  /** The URL that a node uses as its database. */
  url(host = "127.0.0.1"): string {
    return `postgres://tidemill@${host}:${(this.#server.address() as AddressInfo).port}/${this.#database}`;
  }

  /** Delays all responses of the database. It still receives and executes the node's statements. */
  holdResponses(): void {
    this.#holdsResponses = true;
  }

  /** Delays all statements of the node. */
  holdRequests(): void {
    this.#holdsRequests = true;
  }

  /** Forwards what was delayed, and everything after it. */
  release(): void {
    this.#holdsResponses = false;
    this.#holdsRequests = false;
    for (const link of this.#links) link.release();
  }

  /** Breaks the connection of the next matching statement, after its commit and before its response. */
  cutResponse(matches: Matches): Promise<void> {
    return this.#set(matches, (link) => link.break());
  }

  /** Breaks the connection of the next transaction with a matching statement, after its commit and before the response to that. */
  cutCommit(matches: Matches): Promise<void> {
    const links = new Set<Link>();
    const isCommit: MatchesOn = (done, link) => {
      if (matches(done)) links.add(link);
      return done.tag === "COMMIT" && links.has(link);
    };
    return this.#set(isCommit, (link) => link.break());
  }

  /** Delays responses from that of the next matching statement on: the database has executed it, and the node does not know. */
  holdResponsesFrom(matches: Matches): Promise<void> {
    return this.#set(matches, () => this.holdResponses());
  }

  /** Breaks every connection and accepts no more. */
  async close(): Promise<void> {
    for (const link of this.#links) link.break();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  #set(matches: MatchesOn, act: (link: Link) => void): Promise<void> {
    return new Promise((resolve) => {
      const spring = (link: Link) => {
        this.#trap = undefined;
        act(link);
        resolve();
      };
      this.#trap = { matches, spring };
    });
  }

  #connect(node: Socket): void {
    const link: Link = new Link(node, createConnection(this.#socket), {
      onDone: (done) => {
        if (this.#trap?.matches(done, link)) this.#trap.spring(link);
      },
      onEnd: () => this.#links.delete(link),
      holdsResponses: () => this.#holdsResponses,
      holdsRequests: () => this.#holdsRequests,
    });
    this.#links.add(link);
  }
}

/** One connection of the node, with the connection to the database that it is forwarded to. */
class Link {
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
    let response: Buffer[] = [];
    const readRequests = messages(true, (type, message) => this.#rememberText(type, message));
    const readResponses = messages(false, (type, message) => {
      response.push(message);
      if (type === "C") tag = text(message, 5);
      if (PART_OF_RESPONSE.has(type)) return;
      if (type === "Z" && tag !== "") wire.onDone({ text: this.#text, tag });
      this.#pass(node, Buffer.concat(response), wire.holdsResponses());
      response = [];
      if (type === "Z") tag = "";
    });
    node.on("data", (bytes: Buffer) => {
      readRequests(bytes);
      this.#pass(database, bytes, wire.holdsRequests());
    });
    database.on("data", readResponses);
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

  /** Remembers the text of the current statement: a simple query (Q), or one that was prepared under a name (P) and bound (B). */
  #rememberText(type: string, message: Buffer): void {
    if (type === "Q") this.#text = text(message, 5);
    if (type === "P") this.#texts.set(text(message, 5), text(message, 6 + text(message, 5).length));
    if (type === "B") this.#text = this.#texts.get(text(message, 6 + text(message, 5).length)) ?? "";
  }
}
