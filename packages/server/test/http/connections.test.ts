import { connect, type Socket } from "node:net";
import { test as base, describe, expect } from "vitest";
import { createApi } from "#http";
import { systemRandom } from "#kernel";
import { until } from "../harness/service.ts";

const KEY = "svc_ws_a_valid_key_of_this_test";
const HOST = "Host: localhost\r\n";
const AUTHORIZATION = `Authorization: Bearer ${KEY}\r\n`;

/** A client's connection. */
class Client {
  closed = false;
  text = "";
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (bytes) => {
      this.text += bytes.toString();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.closed = true;
    });
  }

  /** @param allowHalfOpen whether the client leaves the connection open when the service closes it */
  static async open(url: string, allowHalfOpen = false): Promise<Client> {
    const { hostname, port } = new URL(url);
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen });
    const client = new Client(socket);
    await new Promise((resolve) => socket.once("connect", resolve));
    return client;
  }

  write(bytes: string): void {
    this.#socket.write(bytes);
  }

  /** Sends a request and waits for its response. */
  async get(path: string, headers = ""): Promise<void> {
    this.text = "";
    this.write(`GET ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`);
    await until(() => this.text.includes("\r\n\r\n"), `the response to ${path}`);
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

/** A listener with at most three connections, a route for everybody, one for keys, and one whose requests hang. */
const test = base
  .extend("clock", () => {
    const clock = { ms: 0, elapsedMs: () => clock.ms };
    return clock;
  })
  .extend("refused", () => [] as unknown[])
  .extend("listener", async ({ clock, refused }, { onCleanup }) => {
    const hanging: (() => void)[] = [];
    const principal = {
      keyId: "",
      workspaceId: "",
      role: "admin",
      plan: "free",
      requestsPerMinute: null,
      executionsPerMonth: null,
    } as never;
    const api = createApi({
      authenticator: { findPrincipal: async (key) => (key === KEY ? principal : null), operatorToken: null },
      emit: (event, fields) => void (event === "connections_refused" && refused.push(fields)),
      random: systemRandom,
      connections: { listener: "public", max: 3, clock },
    });
    api.get("/open", () => ({}));
    api.get("/keyed", { config: { access: "read" } }, () => ({}));
    api.get("/hang", async () => {
      await new Promise<void>((resolve) => hanging.push(resolve));
      return {};
    });
    const url = await api.listen({ port: 0, host: "127.0.0.1" });
    onCleanup(async () => {
      api.server.closeAllConnections();
      await api.close();
    });
    return { url, hanging, count: () => new Promise((resolve) => api.server.getConnections((_error, count) => resolve(count))) };
  })
  .extend("open", ({ listener }, { onCleanup }) => {
    const clients: Client[] = [];
    onCleanup(() => {
      for (const client of clients) client.destroy();
    });
    return async () => {
      const before = await listener.count();
      const client = await Client.open(listener.url);
      clients.push(client);
      await until(async () => client.closed || (await listener.count()) !== before || before === 3, "the connection to be accepted");
      return client;
    };
  });

const hang = async (client: Client, { hanging }: { hanging: unknown[] }) => {
  const before = hanging.length;
  client.write(`GET /hang HTTP/1.1\r\n${HOST}\r\n`);
  await until(() => hanging.length > before, "the request to be in progress");
};

describe("at the limit of connections", () => {
  test("the oldest connection that never sent anything gives way", async ({ open }) => {
    const [first, second, third] = [await open(), await open(), await open()];
    const fourth = await open();
    await fourth.get("/open");
    await until(() => first.closed, "the oldest connection to be closed");
    expect([second.closed, third.closed, fourth.closed]).toEqual([false, false, false]);
  });

  test("a connection is as old as the end of its last request", async ({ open }) => {
    const [first, second] = [await open(), await open(), await open()];
    await first.get("/open");
    await (await open()).get("/open");
    await until(() => second.closed, "the one that sent nothing to be closed");
    expect(first.closed).toBe(false);
  });

  test("connections that sent a valid key outlive those that did not", async ({ open }) => {
    const keyed = [await open(), await open()];
    for (const client of keyed) await client.get("/keyed", AUTHORIZATION);
    const wrong = await open();
    await wrong.get("/keyed", AUTHORIZATION.replace("valid", "wrong"));
    for (let strangers = 0; strangers < 5; strangers += 1) await (await open()).get("/open");
    await until(() => wrong.closed, "the one with the wrong key to be closed");
    expect(keyed.map(({ closed }) => closed)).toEqual([false, false]);
  });

  test("the oldest idle connection with a key gives way when there is no other", async ({ open }) => {
    const keyed = [await open(), await open(), await open()];
    for (const client of keyed) await client.get("/keyed", AUTHORIZATION);
    await (await open()).get("/open");
    await until(() => keyed.some(({ closed }) => closed), "one to be closed");
    expect(keyed.map(({ closed }) => closed)).toEqual([true, false, false]);
  });

  test("connections with a request in progress stay, and a new one is refused when all have one; that is reported at times", async ({
    open,
    listener,
    refused,
    clock,
  }) => {
    const busy = [await open(), await open(), await open()];
    for (const client of busy) await hang(client, listener);
    for (let refusals = 0; refusals < 3; refusals += 1) {
      const client = await open();
      await until(() => client.closed, "the new connection to be refused");
    }
    expect(refused).toEqual([{ listener: "public", max: 3, count: 1 }]);
    clock.ms += 10_000;
    const late = await open();
    await until(() => late.closed, "the new connection to be refused");
    expect(refused.slice(1)).toEqual([{ listener: "public", max: 3, count: 3 }]);
    for (const end of listener.hanging) end();
    await until(() => busy.every(({ text }) => text.startsWith("HTTP/1.1 200")), "the responses");
    await (await open()).get("/open");
  });

  test("a request without a key holds its connection for half a minute at most", async ({ open, listener, clock }) => {
    const busy = [await open(), await open(), await open()];
    for (const client of busy) await hang(client, listener);
    clock.ms += 30_000;
    await (await open()).get("/open");
    await until(() => busy.some(({ closed }) => closed), "one to be closed");
    expect(busy.map(({ closed }) => closed)).toEqual([true, false, false]);
  });
});

describe("a connection that sends no complete head", () => {
  const impatient = base.extend("api", async ({}, { onCleanup }) => {
    const authenticator = { findPrincipal: async () => null, operatorToken: null };
    const api = createApi({ authenticator, emit: () => {}, random: systemRandom, headTimeoutMs: 50 });
    await api.listen({ port: 0, host: "127.0.0.1" });
    onCleanup(() => api.close());
    return api;
  });
  const REASON = "The request did not arrive in time.";

  impatient.for(["", `GET /open HTTP/1.1\r\n${HOST}`])("a connection that sends %j is ended", async (bytes, { api }) => {
    const client = await Client.open(api.listeningOrigin);
    client.write(bytes);
    await until(() => client.closed, "the connection to be closed");
    expect(client.text).toContain(REASON);
  });

  impatient("a connection that the client does not close is closed all the same", async ({ api, onTestFinished }) => {
    const client = await Client.open(api.listeningOrigin, true);
    onTestFinished(() => client.destroy());
    await until(() => client.text.includes(REASON), "the response");
    await until(() => new Promise((resolve) => api.server.getConnections((_error, count) => resolve(count === 0))), "the end of it");
  });
});
