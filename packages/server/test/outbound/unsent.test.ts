import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Abort, createAddressGuard, type Response, Sender } from "#outbound";
import { brokenTls } from "../harness/broken-tls.ts";
import { closedPort, RawServer } from "../harness/raw-server.ts";

let sender: Sender;

beforeEach(() => {
  sender = new Sender(createAddressGuard({ allowLoopback: true, allowed: [] }));
});

afterEach(() => sender.close());

/** @param onSent called with what aborts the request */
const send = (url: string, onSent: (abort: Abort) => void = () => {}) =>
  new Promise<Response>((done) =>
    onSent(sender.send({ origin: new URL(url).origin, path: "/", headers: {}, body: Buffer.from("{}"), maxBodyBytes: 1_000 }, done)),
  );

describe("nothing of a request is sent", () => {
  test("whose connection is refused", async () => {
    expect(await send(`http://127.0.0.1:${await closedPort()}`)).toMatchObject({ error: { code: "ECONNREFUSED" }, unsent: true });
  });

  test.for([
    ["whose connection is closed during the TLS handshake", "closes", "ECONNRESET"],
    ["whose server has a certificate that nobody trusts", "untrusted", "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["whose server does not speak TLS", "plain", "INVALID_RESPONSE"],
  ] as const)("%s", async ([, fault, code]) => {
    expect(await send(await brokenTls(fault))).toMatchObject({ kind: "failed", error: { code }, unsent: true });
  });

  test("that is aborted during the TLS handshake", async () => {
    const reason = new Error("Too late.");
    const server = await brokenTls("hangs");
    expect(await send(server, (abort) => abort(reason))).toEqual({ kind: "failed", error: reason, unsent: true });
  });
});

test.for([
  ["is reset", "resetAndDestroy"],
  ["ends", "destroy"],
] as const)("a request may have been sent if its connection %s", async ([, end]) => {
  const server = await RawServer.listen((socket) => socket[end]());
  onTestFinished(() => server.close());
  const response = await send(server.url);
  expect(response.kind).toBe("failed");
  expect(response).not.toHaveProperty("unsent");
});

test("a request may have been sent if it is aborted while it waits for its response", async () => {
  const sent = Promise.withResolvers<void>();
  const server = await RawServer.listen(() => sent.resolve());
  onTestFinished(() => server.close());
  const response = await send(server.url, (abort) => void sent.promise.then(() => abort(new Error("Too late."))));
  expect(response).toEqual({ kind: "failed", error: new Error("Too late.") });
});
