import net from "node:net";
import { expect, test } from "vitest";
import { createApi, listen } from "#http";
import { systemRandom } from "#kernel";
import { until } from "../harness/service.ts";

test.for([
  { body: "has not come", buffered: 0 },
  { body: "has come in part", buffered: 100 * 1024 },
])(
  "a request that is refused before its large body was read gets its response, and its body, which $body, is not read",
  async ({ buffered }, { onTestFinished }) => {
    let server: net.Socket | undefined;
    const findPrincipal = async () => {
      await until(() => (server?.bytesRead ?? 0) >= buffered, "a part of the body");
      return null;
    };
    const api = createApi({ authenticator: { findPrincipal, operatorToken: null }, emit: () => {}, random: systemRandom });
    api.post("/v1/bodies", { config: { access: "read" }, schema: { body: {} } }, () => ({}));
    const url = await listen(api, "127.0.0.1", 0);
    onTestFinished(() => api.close());
    api.server.on("connection", (socket) => {
      server = socket;
    });

    const total = 64 * 1024 * 1024;
    const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    let heard = "";
    socket.setEncoding("utf8").on("data", (text) => (heard += text));
    const ended = new Promise((resolve) => socket.on("end", resolve));
    const closed = new Promise((resolve) => socket.on("close", resolve));
    const head = "POST /v1/bodies HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer none\r\nContent-Type: application/json";
    socket.write(`${head}\r\nContent-Length: ${total}\r\n\r\n`);
    socket.write(Buffer.alloc(total, " "));
    await ended;
    expect(heard).toMatch(/^HTTP\/1\.1 401 .*"code":"UNAUTHORIZED"/s);
    await closed;
    expect(server?.bytesRead).toBeLessThan(1024 * 1024);
  },
);
