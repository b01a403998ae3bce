import net from "node:net";
import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createApi, listen } from "#http";
import { systemRandom, type WorkspaceId } from "#kernel";
import { BodyTurns } from "../../src/http/body-turns.ts";
import { principalOf } from "../harness/principal.ts";
import { until } from "../harness/service.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const BODIES = 20;
/** The text in each. */
const TEXT = 2 * MIB;

/** A body of a workspace that is being read. */
function begin(turns: BodyTurns, workspaceId: string) {
  const payload = new PassThrough().resume();
  return { payload, onPiece: turns.begin(workspaceId as WorkspaceId, payload), isRead: () => !payload.isPaused() };
}

test("no more is read of a body until its next turn, when it has had its part of this one", async () => {
  const body = begin(new BodyTurns(), "a");
  body.onPiece(63 * KIB);
  expect(body.isRead()).toBe(true);
  body.onPiece(KIB);
  expect(body.isRead()).toBe(false);
  await setImmediate();
  expect(body.isRead()).toBe(true);
});

test("a body alone is read by the megabyte", async () => {
  const body = begin(new BodyTurns(), "a");
  body.onPiece(64 * KIB);
  await setImmediate();
  body.onPiece(MIB - 1);
  expect(body.isRead()).toBe(true);
  body.onPiece(1);
  expect(body.isRead()).toBe(false);
});

test("a workspace's body has its turn beside those of another with many", async () => {
  const turns = new BodyTurns();
  const many = Array.from({ length: 50 }, () => begin(turns, "a"));
  const one = begin(turns, "b");
  for (const body of [...many, one]) body.onPiece(64 * KIB);
  await setImmediate();
  expect(one.isRead()).toBe(true);
  expect(many.filter(({ isRead }) => isRead())).toHaveLength(15);
  one.onPiece(64 * KIB);
  await setImmediate();
  expect(one.isRead()).toBe(true);
  expect(many.filter(({ isRead }) => isRead())).toHaveLength(30);
});

test("large bodies that come together are read whole, a few megabytes of them in a turn of the event loop", async ({ onTestFinished }) => {
  const principal = principalOf("a");
  const sent = Promise.withResolvers<void>();
  const findPrincipal = async () => {
    await sent.promise;
    return principal;
  };
  const api = createApi({
    authenticator: { findPrincipal, operatorToken: null },
    emit: () => {},
    random: systemRandom,
  });
  const lengths: number[] = [];
  api.post("/bodies", { bodyLimit: 8 * MIB, config: { access: "read" }, schema: { body: {} } }, ({ body }) => {
    lengths.push((body as { text: string }).text.length);
    return {};
  });
  const url = await listen(api, "127.0.0.1", 0);
  onTestFinished(() => api.close());
  const sockets: net.Socket[] = [];
  api.server.on("connection", (socket) => sockets.push(socket));
  const text = JSON.stringify({ text: "x".repeat(TEXT) });
  const head = "POST /bodies HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer a\r\nContent-Type: application/json\r\nConnection: close";
  for (let body = 0; body < BODIES; body += 1) {
    const framing =
      body % 2 ? `Content-Length: ${text.length}\r\n\r\n` : `Transfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n`;
    const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => {}).write(`${head}\r\n${framing}${text}${body % 2 ? "" : "\r\n0\r\n\r\n"}`);
    onTestFinished(() => void socket.destroy());
  }
  // By then the system has taken as much of the bodies as it keeps for connections that are not read.
  await until(() => sockets.length === BODIES && sockets.every(({ bytesRead }) => bytesRead > 0), "a part of each body");
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
  sent.resolve();
  let most = 0;
  let before = Number.POSITIVE_INFINITY;
  while (lengths.length < BODIES) {
    await setImmediate();
    const read = sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
    most = Math.max(most, read - before);
    before = read;
  }
  expect(new Set(lengths)).toEqual(new Set([TEXT]));
  expect(most).toBeLessThan(4 * MIB);
});
