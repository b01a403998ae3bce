import net from "node:net";
import { expect, test } from "vitest";
import { createApi, listen } from "#http";
import { systemRandom } from "#kernel";

test("a request that is refused before its large body was read gets its response, and its body is not read", async ({ onTestFinished }) => {
  const api = createApi({ authenticator: { findPrincipal: async () => null, operatorToken: null }, emit: () => {}, random: systemRandom });
  api.post("/v1/bodies", { config: { access: "read" }, schema: { body: {} } }, () => ({}));
  const url = await listen(api, "127.0.0.1", 0);
  onTestFinished(() => api.close());
  let received = 0;
  api.server.on("connection", (socket) => socket.on("close", () => (received = socket.bytesRead)));

  const total = 64 * 1024 * 1024;
  const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  let heard = "";
  socket.setEncoding("utf8").on("data", (text) => (heard += text));
  const ended = new Promise((resolve) => socket.on("end", resolve));
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.write(`POST /v1/bodies HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${total}\r\n\r\n`);
  socket.write(Buffer.alloc(total, " "));
  await ended;
  expect(heard).toMatch(/^HTTP\/1\.1 401 .*"code":"UNAUTHORIZED"/s);
  await closed;
  expect(received).toBeLessThan(total / 2);
});
