import type { Duplex } from "node:stream";
import pg from "pg";
import { type Bind, bindInPieces, isLarge } from "./bind.ts";
import { MessageReader, type MessageSource } from "./message-reader.ts";
import { ReadTurns } from "./read-turns.ts";

/** pg's connection. */
interface Connection {
  readonly stream: Duplex;
  bind(message: Bind): void;
  _send(message: Buffer): boolean;
  attachListeners(source: MessageSource): void;
}

/** Turns of all connections of the process. */
const turns = new ReadTurns();

/** A client that sends large texts, and reads long results, while the event loop does other things. */
export class Client extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    const { connection } = this as unknown as { connection: Connection };
    const bind = connection.bind.bind(connection);
    connection.bind = (message) => (isLarge(message) ? bindInPieces(connection, message) : bind(message));
    const attachListeners = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => attachListeners(new MessageReader(stream as Duplex, turns));
  }
}
