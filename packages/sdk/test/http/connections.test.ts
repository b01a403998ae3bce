import { execFile } from "node:child_process";
import diagnostics from "node:diagnostics_channel";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Tidemill } from "@tidemill/sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import { failureOf } from "../harness/failure.ts";
import { CERTIFICATE, KEY } from "../harness/localhost-tls.ts";

const responseOf = (body: object, headers = "") => {
  const text = JSON.stringify(body);
  return `HTTP/1.1 200 OK\r\n${headers}content-length: ${text.length}\r\n\r\n${text}`;
};

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** A server that does this with each request: its text, its connection and the number of that, from 1. */
async function serve(
  onRequest: (request: string, socket: Socket, connection: number) => void,
): Promise<{ client: Tidemill; port: number }> {
  let connections = 0;
  const port = await listen(
    createServer((socket) => {
      connections += 1;
      const connection = connections;
      socket.on("data", (bytes) => onRequest(bytes.toString(), socket, connection));
    }),
  );
  return { client: new Tidemill({ url: `http://127.0.0.1:${port}`, key: "svc_ws_key", retryForMs: 0 }), port };
}

type Respond = (socket: Socket, body: object) => void;

describe("a connection is not used again", () => {
  test.for<readonly [string, Respond]>([
    ["that the server has closed", (socket, body) => void socket.end(responseOf(body))],
    ["of which the server says so", (socket, body) => void socket.write(responseOf(body, "connection: close\r\n"))],
    ["with a response that nobody has asked for", (socket, body) => void socket.write(responseOf(body) + responseOf({}))],
  ])("%s", async ([, respond]) => {
    const closed: Promise<unknown>[] = [];
    const { client } = await serve((_, socket, connection) => {
      closed.push(once(socket, "close"));
      respond(socket, { connection });
    });
    for (const connection of [1, 2, 3]) {
      expect(await client.status()).toEqual({ connection });
      await closed.at(-1);
    }
  });

  test("that the server is about to close", async () => {
    const { client } = await serve((_, socket, connection) => socket.write(responseOf({ connection }, "keep-alive: timeout=1\r\n")));
    for (const connection of [1, 2, 3]) expect(await client.status()).toEqual({ connection });
  });

  test("whose call was ended", async () => {
    const ends = new AbortController();
    const { client } = await serve((_, socket, connection) => {
      if (connection === 1) ends.abort();
      else socket.write(responseOf({ connection }));
    });
    expect(await failureOf(client.status({ signal: ends.signal }))).toBe(ends.signal.reason);
    expect(await client.status()).toEqual({ connection: 2 });
  });
});

describe("a connection has one request at a time", () => {
  test("and calls at once have one each", async () => {
    const waiting: (() => void)[] = [];
    const { client } = await serve((_, socket, connection) => {
      waiting.push(() => socket.write(responseOf({ connection })));
      if (waiting.length === 3) for (const respond of waiting.splice(0).reverse()) respond();
    });
    const responses = await Promise.all([client.status(), client.status(), client.status()]);
    expect(responses).toEqual([1, 2, 3].map((connection) => ({ connection })));
  });

  test("a signal of a call that has its response ends no other call", async () => {
    const ends = new AbortController();
    const { client } = await serve((_, socket, connection) => socket.write(responseOf({ connection })));
    await client.status({ signal: ends.signal });
    const second = client.status();
    ends.abort();
    expect(await second).toEqual({ connection: 1 });
  });
});

test("a request without a whole response has no response", async () => {
  for (const answer of ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", "nonsense\r\n\r\n"]) {
    const { client } = await serve((_, socket) => void socket.end(answer));
    expect(await failureOf(client.status())).toMatchObject({ code: "NO_RESPONSE", neverSent: false });
  }
});

test("a response to a large request counts also if the server does not read the rest of it", async () => {
  const { client } = await serve((_, socket) => {
    const problem = { error: { code: "PAYLOAD_TOO_LARGE", message: "It is too large.", details: {} } };
    socket.pause();
    socket.write(responseOf(problem).replace("200 OK", "413 Too Large"));
  });
  const job = client.queue("emails").enqueue({ text: "x".repeat(8_000_000) });
  expect(await failureOf(job)).toMatchObject({ code: "PAYLOAD_TOO_LARGE", status: 413 });
});

const SDK = fileURLToPath(new URL("../../src/index.ts", import.meta.url));

/** Executes a program in a process of its own, with a client `tidemill`. Returns what it writes. */
async function execute(url: string, program: string, { env = {}, before = "" }: { env?: Record<string, string>; before?: string } = {}) {
  const text = `${before} const { Tidemill } = await import(${JSON.stringify(SDK)});
    const tidemill = new Tidemill({ url: ${JSON.stringify(url)}, key: "svc_ws_key", retryForMs: 0 }); ${program}`;
  const args = ["--conditions=source", "--input-type=module", "-e", text];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { PATH: process.env.PATH ?? "", ...env } });
  return stdout;
}

describe("a process", () => {
  test("ends with open connections that are idle, and not before its calls have ended", async () => {
    const { port } = await serve((_, socket) => void setTimeout(() => socket.write(responseOf({ ok: 1 })), 300));
    const url = `http://127.0.0.1:${port}`;
    // The server would keep the connection open for as long as the test lasts.
    expect(await execute(url, "tidemill.status().then((status) => console.log(JSON.stringify(status)));")).toBe('{"ok":1}\n');
  });

  test("with a proxy for all requests sends them through it", async () => {
    const lines: (string | undefined)[] = [];
    const { port } = await serve((request, socket) => {
      const [line] = request.split("\r\n");
      lines.push(line);
      socket.write(line?.startsWith("CONNECT") ? "HTTP/1.1 200 OK\r\n\r\n" : responseOf({ ok: 1 }));
    });
    const proxy = `http://127.0.0.1:${port}`;
    const program = "tidemill.status().then((status) => console.log(JSON.stringify(status)));";
    const env = { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: proxy, http_proxy: proxy };
    expect(await execute("http://tidemill.invalid", program, { env })).toBe('{"ok":1}\n');
    expect(lines).toEqual(["CONNECT tidemill.invalid:80 HTTP/1.1", "GET /v1/status HTTP/1.1"]);
  });

  test.for<[string, string, string]>([
    [
      "a wrapper of fetch that was there first",
      "const { fetch } = globalThis; globalThis.fetch = (...args) => { console.log('seen'); return fetch(...args); };",
      "seen\n",
    ],
    ["an agent of others for all requests", "import http from 'node:http'; http.globalAgent = {};", ""],
  ])("with %s sends by fetch", async ([, before, said]) => {
    const modes: unknown[] = [];
    const { port } = await serve((request, socket) => {
      modes.push(/^sec-fetch-mode: (\w+)/m.exec(request)?.[1]);
      socket.write(responseOf({}));
    });
    const stdout = await execute(`http://127.0.0.1:${port}`, "await tidemill.status(); process.exit();", { before });
    expect([stdout, modes]).toEqual([said, ["cors"]]);
  });

  test("who observes the requests of Node sees them", async () => {
    const { client } = await serve((_, socket) => void socket.write(responseOf({})));
    const seen: unknown[] = [];
    const onRequest = (message: unknown) => seen.push((message as { request: { path: string } }).request.path);
    diagnostics.subscribe("undici:request:create", onRequest);
    onTestFinished(() => void diagnostics.unsubscribe("undici:request:create", onRequest));
    await client.status();
    expect(seen).toEqual(["/v1/status"]);
  });
});

describe("over TLS", () => {
  test("only the server that its certificate names gets requests, and connections are used again", async () => {
    const ports = new Set<number | undefined>();
    const requests: unknown[] = [];
    const server = createHttpsServer({ cert: CERTIFICATE, key: KEY }, (request, response) => {
      ports.add(request.socket.remotePort);
      requests.push(request.headers.host);
      response.end('{"ok":1}');
    });
    const port = await listen(server);
    const directory = mkdtempSync(path.join(tmpdir(), "tidemill-tls-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const trusted = path.join(directory, "certificate.pem");
    writeFileSync(trusted, CERTIFICATE);
    const program =
      "for (const _ of [1, 2]) await tidemill.status().then(() => console.log('ok'), ({ code, message }) => console.log(code, message));";
    const asked = (host: string, env: Record<string, string>) => execute(`https://${host}:${port}`, program, { env });
    expect(await asked("localhost", { NODE_EXTRA_CA_CERTS: trusted })).toBe("ok\nok\n");
    expect([ports.size, requests]).toEqual([1, [`localhost:${port}`, `localhost:${port}`]]);
    expect(await asked("localhost", {})).toMatch(/^NO_RESPONSE .*self-signed certificate/);
    expect(await asked("127.0.0.1", { NODE_EXTRA_CA_CERTS: trusted })).toMatch(/^NO_RESPONSE .*does not match/);
    expect(requests).toHaveLength(2);
  });
});
