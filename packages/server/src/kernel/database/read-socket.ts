import net from "node:net";

/** The maximum size of one read, as with Node's own buffers. Bytes. */
const READ_BYTES = 64 * 1024;
/** Shorter reads are copied, because pg keeps parts of short messages until later. Bytes. */
const MIN_SHARED_BYTES = 8 * 1024;

const memory = Buffer.allocUnsafeSlow(READ_BYTES);

/**
 * Creates the socket of a connection. It reads into memory that all such sockets share, unless pg puts a TLS socket on top of it. Node
 * would allocate 64 KiB for each read, which V8 counts: 64 MiB of results make it mark its whole heap. Long pieces of `data` events are
 * only valid until their listeners return.
 */
export function createReadSocket(options?: { readonly ssl?: unknown }): net.Socket {
  if (options?.ssl) return new net.Socket();
  const receive = (bytes: number): boolean => {
    const piece = memory.subarray(0, bytes);
    socket.emit("data", bytes < MIN_SHARED_BYTES ? Buffer.from(piece) : piece);
    return true;
  };
  const socket = new net.Socket({ onread: { buffer: memory, callback: receive } });
  return socket;
}
