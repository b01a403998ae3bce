import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";
import { messages, text } from "./postgres-messages.ts";

/** The predicate on a row's workspace. Its replacement has the same length, because a message contains its own length. */
const PREDICATE = /(?:\b\w+\.)?\bworkspace_id = (\$\d+)/g;

const SCHEMAS = "tidemill_tenant,tidemill";
/** Has the same length. */
const WITHOUT_VIEWS = "tidemill,public,tidemill";

/**
 * A proxy between a node and its database. It removes the workspace predicate from the statements of tenants' connections. Then only
 * the database itself isolates the workspaces.
 */
export class TamperedWire {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The statements whose predicate was removed. */
  readonly tampered = new Set<string>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /**
   * @param host directory of the database's socket
   * @param views false also removes the database's own isolation
   */
  static async to(host: string, port: number, { views }: { views: boolean }): Promise<TamperedWire> {
    const server = createServer();
    const wire = new TamperedWire(server);
    server.on("connection", (node) => wire.#join(node, createConnection(`${host}/.s.PGSQL.${port}`), views));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return wire;
  }

  url(database: string): string {
    return `postgres://tidemill@127.0.0.1:${(this.#server.address() as AddressInfo).port}/${database}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(node: Socket, database: Socket, views: boolean): void {
    for (const [socket, other] of [
      [node, database],
      [database, node],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay();
      socket.on("error", () => other.destroy());
      socket.on("close", () => other.destroy());
    }
    let isTenants = false;
    const read = messages(true, (type, message) => {
      if (type === "") {
        isTenants = message.includes(SCHEMAS);
        if (isTenants && !views) message.write(WITHOUT_VIEWS, message.indexOf(SCHEMAS), "latin1");
      } else if (type === "P" && isTenants) this.#tamper(message);
      database.write(message);
    });
    node.on("data", read);
    database.on("data", (bytes) => node.write(bytes));
  }

  #tamper(parse: Buffer): void {
    const from = 6 + text(parse, 5).length;
    const statement = text(parse, from);
    for (const { 0: found, 1: value, index } of statement.matchAll(PREDICATE)) {
      this.tampered.add(statement);
      parse.write(`${value}::uuid=${value}`.padEnd(found.length), from + index, "latin1");
    }
  }
}
