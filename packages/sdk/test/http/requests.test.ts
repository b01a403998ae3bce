import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Tidemill } from "@tidemill/sdk";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { failureOf } from "../harness/failure.ts";

/** A client of a server that responds so. */
async function clientOf(respond: RequestListener, { host = "127.0.0.1", base = "" } = {}): Promise<Tidemill> {
  const server = createServer(respond).listen(0, host);
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return new Tidemill({ url: `http://${host.includes(":") ? `[${host}]` : host}:${port}${base}`, key: "svc_ws_key", retryForMs: 0 });
}

describe("requests on Node", () => {
  test("they share a connection, and do not pass by fetch", async () => {
    const ports = new Set<number | undefined>();
    const client = await clientOf((request, response) => {
      ports.add(request.socket.remotePort);
      expect(request.headers).not.toHaveProperty("sec-fetch-mode");
      response.end("{}");
    });
    for (let call = 0; call < 3; call += 1) await client.status();
    expect(ports.size).toBe(1);
  });

  test("they go to the path of the address, also when that is of IPv6", async () => {
    const urls: unknown[] = [];
    const respond: RequestListener = ({ url, headers }, response) => {
      urls.push([url, headers.host?.replace(/\d+$/, "")]);
      response.end("{}");
    };
    const client = await clientOf(respond, { host: "::1", base: "/tidemill/" });
    await client.status();
    expect(urls).toEqual([["/tidemill/v1/status", "[::1]:"]]);
  });

  test("without a body they say so, unless their method has none", async () => {
    const lengths: unknown[] = [];
    const client = await clientOf(({ method, headers }, response) => {
      lengths.push([method, headers["content-length"]]);
      response.end("{}");
    });
    await Promise.allSettled([client.runs.cancel("run_1")]);
    await client.status();
    await Promise.allSettled([client.queues.delete("emails")]);
    expect(lengths).toEqual([
      ["POST", "0"],
      ["GET", undefined],
      ["DELETE", undefined],
    ]);
  });

  test("a character that arrives in two pieces stays whole", async () => {
    const bytes = Buffer.from(JSON.stringify({ name: "Zoë 🌊" }));
    const client = await clientOf((_, response) => {
      response.write(bytes.subarray(0, bytes.length - 4));
      setImmediate(() => response.end(bytes.subarray(bytes.length - 4)));
    });
    expect(await client.status()).toEqual({ name: "Zoë 🌊" });
  });

  test("a response that is cut is no response", async () => {
    const client = await clientOf((_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write('{"status":', () => response.destroy());
    });
    expect(await failureOf(client.status())).toMatchObject({ code: "NO_RESPONSE", neverSent: false });
  });

  test("the signal of a call ends it, also while the response comes", async () => {
    const ends = new AbortController();
    const reason = new Error("The user left.");
    const client = await clientOf((_, response) => {
      response.write("{", () => ends.abort(reason));
    });
    expect(await failureOf(client.status({ signal: ends.signal }))).toBe(reason);
  });

  test("who replaces fetch sees all requests", async () => {
    const client = await clientOf((_, response) => response.end("{}"));
    const seen: string[] = [];
    const builtin = globalThis.fetch;
    vi.stubGlobal("fetch", (input: string, init: RequestInit) => {
      seen.push(`${init.method} ${new URL(input).pathname}`);
      return builtin(input, init);
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    await client.status();
    expect(seen).toEqual(["GET /v1/status"]);
  });
});
