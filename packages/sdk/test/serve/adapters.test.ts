import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expressHandler, nodeHandler, serve, workflow } from "@tidemill/sdk";
import { test as base, describe, expect } from "vitest";

const quiet = () => {};
const handler = serve({
  url: "http://127.0.0.1:1",
  key: "k",
  secret: `cbs_${"s".repeat(43)}`,
  logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  workflows: [workflow({ id: "a" }, () => 1)],
});
const ADAPTERS = [
  ["Node", nodeHandler(handler)],
  ["Express", expressHandler(handler)],
] as const;

const test = base.extend("open", async ({}, { onCleanup }) => {
  const servers: ReturnType<typeof createServer>[] = [];
  onCleanup(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
  /** Opens a connection to a server, and hands on what the handler returns for the first request. */
  return async (handle: (typeof ADAPTERS)[number][1]): Promise<{ socket: Socket; handled: Promise<Promise<void>[]> }> => {
    const called = Promise.withResolvers<Promise<void>[]>();
    const server = createServer((request, response) => called.resolve([handle(request, response)]));
    servers.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    return { socket, handled: called.promise };
  };
});

describe.for(ADAPTERS)("a client cannot end a program with a handler for %s", ([, handle]) => {
  test.for(["TRACE", "GET", "PUT"])("by a %s request, which is 405", async (method, { open }) => {
    const { socket, handled } = await open(handle);
    socket.write(`${method} / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    const [done] = await handled;
    expect(await done).toBeUndefined();
    const response = await text(socket);
    expect(response.split("\r\n")[0]).toBe("HTTP/1.1 405 Method Not Allowed");
    expect(response).toContain("Executions come as POST requests.");
  });

  test("by leaving in the middle of a body", async ({ open }) => {
    const { socket, handled } = await open(handle);
    socket.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
    const [done] = await handled;
    socket.destroy();
    expect(await done).toBeUndefined();
  });

  test("by a header that the Fetch API does not take, which is 400", async () => {
    const written: unknown[] = [];
    const response = {
      writableEnded: false,
      on: quiet,
      writeHead: (status: number) => void written.push(status),
      end: (body?: string) => void written.push(body),
    };
    const request = {
      method: "POST",
      // As HTTP/2 requests have it.
      headers: { ":path": "/" },
      [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true as const, value: undefined }) }),
    };
    await handle(request, response);
    expect(written).toEqual([400, expect.stringContaining("could not be read")]);
  });
});
