import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import net, { type AddressInfo, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createReadSocket } from "../../src/kernel/database/read-socket.ts";

/** A socket that is connected to a server, and the server's side of it. */
async function connected(): Promise<{ socket: Socket; peer: Socket }> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const socket = createReadSocket();
  socket.connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [peer] = (await accepted) as [Socket];
  onTestFinished(() => {
    socket.destroy();
    peer.destroy();
    server.close();
  });
  return { socket, peer };
}

const digestOf = (...pieces: Uint8Array[]): string => {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
};

test("sockets that read at once get what was sent to each, and long pieces of all are in one memory", async () => {
  const memories = new Set<ArrayBufferLike>();
  const digests = Array.from({ length: 4 }, async () => {
    const { socket, peer } = await connected();
    const sent = randomBytes(3_000_000);
    const hash = createHash("sha256");
    socket.on("data", (piece: Buffer) => {
      if (piece.length >= 8_192) memories.add(piece.buffer);
      hash.update(piece);
    });
    peer.end(sent);
    await once(socket, "end");
    return [hash.digest("hex"), digestOf(sent)];
  });
  for (const [got, sent] of await Promise.all(digests)) expect(got).toBe(sent);
  expect(memories.size).toBe(1);
});

test("a short piece stays as it is while others are read", async () => {
  const { socket, peer } = await connected();
  const other = await connected();
  peer.write("kept");
  const [kept] = (await once(socket, "data")) as [Buffer];
  other.peer.write("x".repeat(50_000));
  await once(other.socket, "data");
  expect(kept.toString()).toBe("kept");
});

test("nothing is read of a socket that is paused, until it is resumed", async () => {
  const { socket, peer } = await connected();
  const pieces: Buffer[] = [];
  const sent = randomBytes(2_000_000);
  socket.on("data", (piece: Buffer) => {
    pieces.push(Buffer.from(piece));
    socket.pause();
  });
  peer.end(sent);
  await once(socket, "data");
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
  expect(pieces).toHaveLength(1);
  socket.on("pause", () => void setImmediate().then(() => socket.resume()));
  const ended = once(socket, "end");
  socket.resume();
  await ended;
  expect(pieces.length).toBeGreaterThan(20);
  expect(digestOf(...pieces)).toBe(digestOf(sent));
});

test("a socket whose peer breaks off fails", async () => {
  const { socket, peer } = await connected();
  socket.on("data", () => {});
  peer.resetAndDestroy();
  const [error] = await once(socket, "error");
  expect(error).toMatchObject({ code: "ECONNRESET" });
  await once(socket, "close");
});
