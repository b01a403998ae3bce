import { connect } from "node:net";
import { Events, readConfig, startNode } from "@tidemill/server";
import { expect } from "vitest";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { sendBytes, sendRaw } from "../harness/raw-request.ts";
import { MASTER_KEY, type Service, startTestNode, test, until } from "../harness/service.ts";

const head = (service: Service): string => `Host: localhost\r\nAuthorization: Bearer ${service.key}\r\n`;
const post = (service: Service): string => `POST /v1/queues HTTP/1.1\r\n${head(service)}Content-Type: application/json\r\n`;

/** Bytes that are not HTTP, or that two parsers may understand differently. */
const BROKEN: Record<string, (service: Service) => string> = {
  "no request line": () => "hello\r\n\r\n",
  TLS: () => "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n",
  "a version that there is not": (service) => `GET /v1/queues HTTP/9.1\r\n${head(service)}\r\n`,
  "a NUL in the path": (service) => `GET /v1/queues/a\0b HTTP/1.1\r\n${head(service)}\r\n`,
  "a space in the path": (service) => `GET /v1/queues/a b HTTP/1.1\r\n${head(service)}\r\n`,
  "bytes over 127 in the path": (service) => `GET /v1/queues/\xe9 HTTP/1.1\r\n${head(service)}\r\n`,
  "a method that there is not": (service) => `FETCH /v1/queues HTTP/1.1\r\n${head(service)}\r\n`,
  "a space in a header's name": (service) => `GET /v1/queues HTTP/1.1\r\n${head(service)}X Y: 1\r\n\r\n`,
  "a space before a header's colon": (service) => `${post(service)}Content-Length : 2\r\n\r\n{}`,
  "a NUL in a header": (service) => `GET /v1/queues HTTP/1.1\r\n${head(service)}X-Y: a\0b\r\n\r\n`,
  "a bare line feed in a header": (service) => `GET /v1/queues HTTP/1.1\r\n${head(service)}X-Y: a\nb\r\n\r\n`,
  "headers over 16 KiB": (service) => `GET /v1/queues HTTP/1.1\r\n${head(service)}X-Y: ${"x".repeat(20_000)}\r\n\r\n`,
  "a path over 16 KiB": (service) => `GET /v1/queues/${"x".repeat(20_000)} HTTP/1.1\r\n${head(service)}\r\n`,
  "thousands of headers": (service) => `GET /v1/queues HTTP/1.1\r\n${head(service)}${"a: 1\r\n".repeat(5_000)}\r\n`,
  "a length past 2**64": (service) => `${post(service)}Content-Length: 99999999999999999999\r\n\r\n{}`,
  "a negative length": (service) => `${post(service)}Content-Length: -1\r\n\r\n{}`,
  "a length that is no number": (service) => `${post(service)}Content-Length: 0x10\r\n\r\n{}`,
  "two lengths": (service) => `${post(service)}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
  "a length and chunks": (service) => `${post(service)}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "a transfer coding that is not known": (service) => `${post(service)}Transfer-Encoding: gzip\r\n\r\n{}`,
  "a chunk whose size is no number": (service) => `${post(service)}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
  "no Host in HTTP/1.1": (service) => `GET /v1/queues HTTP/1.1\r\nAuthorization: Bearer ${service.key}\r\nConnection: close\r\n\r\n`,
};

test.for(Object.keys(BROKEN))("a malformed request, %s, gets the envelope, and the connection is closed", async (what, { service }) => {
  const before = await everythingStored(service.database);
  const reply = await sendBytes(service.node.url, Buffer.from(BROKEN[what]?.(service) ?? "", "latin1"));
  expect(faultsOf(reply, "VALIDATION_ERROR")).toEqual([]);
  expect(reply.headers.get("connection")).toBe("close");
  expect(await everythingStored(service.database)).toEqual(before);
});

test("headers that are too large are called so", async ({ service }) => {
  const reply = await sendBytes(service.node.url, BROKEN["headers over 16 KiB"]?.(service) ?? "");
  expect(reply.body.error.message).toMatch(/headers.*too large/);
});

test("a length over the limit is refused before a byte of the body has come", async ({ service }) => {
  for (const length of ["2097153", "9007199254740993", "18446744073709551615"]) {
    const reply = await sendBytes(service.node.url, `${post(service)}Content-Length: ${length}\r\n\r\n`);
    expect(faultsOf(reply, "PAYLOAD_TOO_LARGE")).toEqual([]);
  }
});

test("a body that ends before its length is refused and nothing of it is stored", async ({ service }) => {
  const before = await everythingStored(service.database);
  for (const framing of ["Content-Length: 100\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n10\r\n"]) {
    const reply = await sendBytes(service.node.url, `${post(service)}${framing}{"name":"half"}`, { hangUp: true });
    expect(faultsOf(reply, "VALIDATION_ERROR")).toEqual([]);
  }
  expect(await everythingStored(service.database)).toEqual(before);
});

test("a body that breaks off is not told to the log as a fault of ours", async ({ database, clock, service }) => {
  const config = readConfig({
    DATABASE_URL: database.url,
    TIDEMILL_PORT: "0",
    TIDEMILL_INTERNAL_PORT: "0",
    TIDEMILL_LOG_LEVEL: "silent",
    TIDEMILL_MASTER_KEY: MASTER_KEY,
  });
  const events = new Events();
  const told: string[] = [];
  events.subscribe((event) => told.push(event));
  const node = await startNode(config, { clock, events });
  await sendBytes(node.url, `${post(service)}Content-Length: 100\r\n\r\n{"name":`, { hangUp: true });
  await sendBytes(node.url, `${post(service)}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
  // A stopped node has closed every connection.
  await node.stop();
  expect(told).toContain("node_stopped");
  expect(told).not.toContain("request_failed");
});

test("what follows a request on its connection is another request", async ({ service }) => {
  const before = await everythingStored(service.database);
  const smuggled = `${post(service)}Content-Length: 2\r\n\r\n{}POST /v1/queues HTTP/1.1\r\n\r\n{"name":"smuggled"}`;
  expect((await sendBytes(service.node.url, smuggled, { hangUp: true })).status).toBe(400);
  expect(await everythingStored(service.database)).toEqual(before);
});

test("an expectation that is not known is passed over", async ({ service }) => {
  const body = '{"name":"expected"}';
  const reply = await sendBytes(
    service.node.url,
    `${post(service)}Expect: tea\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  expect([reply.status, reply.body?.name]).toEqual([201, "expected"]);
});

test("HTTP/1.0 and the absolute form of a path are served", async ({ service }) => {
  const name = await service.queue();
  const authorization = `Authorization: Bearer ${service.key}\r\n`;
  const old = await sendBytes(service.node.url, `GET /v1/queues/${name} HTTP/1.0\r\n${authorization}\r\n`);
  const absolute = await sendBytes(
    service.node.url,
    `GET http://localhost/v1/queues/${name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${authorization}\r\n`,
  );
  expect([old.body?.name, absolute.body?.name]).toEqual([name, name]);
});

test("no two replies have the same request id, whatever they answer", async ({ service }) => {
  const headers = { authorization: `Bearer ${service.key}` };
  const replies = await Promise.all([
    ...["/v1/queues", "/v1/queues", "/healthz", "/doc", "/nope", "/v1/queues/%ff"].map((path) =>
      sendRaw(service.node.url, { method: "GET", path, headers }),
    ),
    sendBytes(service.node.url, "hello\r\n\r\n"),
    sendBytes(service.node.url, "hello\r\n\r\n"),
  ]);
  const ids = replies.map((reply) => reply.headers.get("x-request-id"));
  expect(ids).not.toContain(null);
  expect(new Set(ids).size).toBe(replies.length);
});

test("a node stops though a client has sent half a request and waits", async ({ database, clock, service }) => {
  const node = await startTestNode(database, clock, { TIDEMILL_DRAIN_SECONDS: "1" });
  const { hostname, port } = new URL(node.url);
  const client = connect(Number(port), hostname);
  client.on("error", () => {});
  try {
    client.write(`${post(service)}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n{"name":`);
    // The node says "100 Continue": it has read the headers and waits for the body.
    await new Promise((resolve) => client.once("data", resolve));
    let stopped = false;
    void node.stop().then(() => {
      stopped = true;
    });
    await until(() => stopped, "the node to stop");
  } finally {
    client.destroy();
    await node.stop();
  }
});
