import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";

/** Queries for names under it are never answered. */
export const SILENT_ZONE = "silent.test";

const HEADER_BYTES = 12;
const TYPE_A = 1;
/** A response without an error, from a server that offers recursion. */
const FLAGS = 0x8180;
const TTL_SECONDS = 1;

/** Starts a name server on loopback: every name has the address 127.0.0.1, except those of the silent zone. Returns its port. */
export async function startNameServer(): Promise<number> {
  const socket: Socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    const response = answer(query);
    if (response) socket.send(response, port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return socket.address().port;
}

/** The response to a query with one question; null for no response. */
function answer(query: Buffer): Buffer | null {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length).toLowerCase());
    at += length + 1;
  }
  const end = at + 5;
  if (query.length < end || labels.slice(-2).join(".") === SILENT_ZONE) return null;
  const hasAddress = query.readUInt16BE(at + 1) === TYPE_A;
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(FLAGS, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(hasAddress ? 1 : 0, 6);
  return Buffer.concat([header, query.subarray(HEADER_BYTES, end), ...(hasAddress ? [ADDRESS] : [])]);
}

/** The record of type A: the name in the question (a pointer to it), type, class, time to live, length, 127.0.0.1. */
const ADDRESS = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, TTL_SECONDS, 0, 4, 127, 0, 0, 1]);
