import type { Duplex } from "node:stream";

/** How long a client may take to read the last response of its connection. Milliseconds. */
const LINGER_MS = 1_000;

/**
 * Closes a connection after its last response. If it were closed immediately, it would be reset, perhaps before the client has read the
 * response. If it were left open, it would stay until the client closes it.
 */
export function closeLater(socket: Duplex): void {
  socket.end();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
