import { connect, type Socket } from "node:net";
import { test as base, describe, expect } from "vitest";
import { createApi, listen } from "#http";
import { SharedResource, systemRandom } from "#kernel";
import { until } from "../harness/service.ts";
import { stall } from "../harness/stall.ts";

const KEY = "svc_ws_a_valid_key_of_this_test";
const OTHER_KEY = "svc_ws_a_key_of_another_workspace";
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

/** A listener with at most three connections unless a test has more, a route for everybody, one for keys, and one whose requests hang. */
const test = base
  .extend("max", () => 3)
  .extend("clock", () => {
    const clock = { ms: 0, elapsedMs: () => clock.ms };
    return clock;
  })
  .extend("refused", () => [] as unknown[])
  .extend("listener", async ({ clock, max, refused }, { onCleanup }) => {
    const hanging: (() => void)[] = [];
    const principalOf = (workspaceId: string) =>
      ({ keyId: "", workspaceId, role: "read", plan: "free", requestsPerMinute: 60, executionsPerMonth: null }) as never;
    const share = new SharedResource({ name: "client_connections", capacity: 4 });
    const rate = { granted: true, remaining: 1, moreInSeconds: 1, resetsAtSeconds: 1 };
    const api = createApi({
      authenticator: {
        findPrincipal: async (key) => (key === KEY ? principalOf("ours") : key === OTHER_KEY ? principalOf("other") : null),
        operatorToken: null,
      },
      rateLimiter: { take: async () => rate, takeReport: () => false },
      emit: (event, fields) => void (event === "connections_refused" && refused.push(fields)),
      random: systemRandom,
      connections: { listener: "public", max, clock, share },
    });
    api.get("/open", () => ({}));
    api.get("/forbidden", { config: { access: "admin" } }, () => ({}));
    api.post("/bodies", { config: { access: "read" }, schema: { body: {} } }, () => ({}));
    api.get("/authenticated", { config: { access: "read" } }, () => ({}));
    const hang = async () => {
      await new Promise<void>((resolve) => hanging.push(resolve));
      return {};
    };
    api.get("/hang", hang);
    api.get("/authenticated/hang", { config: { access: "read" } }, hang);
    const url = await api.listen({ port: 0, host: "127.0.0.1" });
    onCleanup(async () => {
      api.server.closeAllConnections();
      await api.close();
    });
    return {
      url,
      hanging,
      share,
      rate,
      count: () => new Promise((resolve) => api.server.getConnections((_error, count) => resolve(count))),
    };
  })
  .extend("open", ({ listener, max }, { onCleanup }) => {
    const clients: Client[] = [];
    onCleanup(() => {
      for (const client of clients) client.destroy();
    });
    return async () => {
      const before = await listener.count();
      const client = await Client.open(listener.url);
      clients.push(client);
      await until(async () => client.closed || (await listener.count()) !== before || before === max, "the connection to be accepted");
      return client;
    };
  });

const hang = async (client: Client, { hanging }: { hanging: unknown[] }, head = "GET /hang HTTP/1.1\r\n") => {
  const before = hanging.length;
  client.write(`${head}${HOST}\r\n`);
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
    const authenticated = [await open(), await open()];
    for (const client of authenticated) await client.get("/authenticated", AUTHORIZATION);
    const wrong = await open();
    await wrong.get("/authenticated", AUTHORIZATION.replace("valid", "wrong"));
    for (let others = 0; others < 5; others += 1) await (await open()).get("/open");
    await until(() => wrong.closed, "the one with the wrong key to be closed");
    expect(authenticated.map(({ closed }) => closed)).toEqual([false, false]);
  });

  test("the oldest idle connection with a key gives way when there is no other", async ({ open }) => {
    const authenticated = [await open(), await open(), await open()];
    for (const client of authenticated) await client.get("/authenticated", AUTHORIZATION);
    await (await open()).get("/open");
    await until(() => authenticated.some(({ closed }) => closed), "one to be closed");
    expect(authenticated.map(({ closed }) => closed)).toEqual([true, false, false]);
  });

  test("connections with a request in progress stay, and a new one is refused when all have one; that is reported at times", async ({
    open,
    listener,
    refused,
    clock,
  }) => {
    const busy = [await open(), await open(), await open()];
    for (const client of busy) await hang(client, listener, `GET /authenticated/hang HTTP/1.1\r\n${AUTHORIZATION}`);
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

  test("a request without a key holds its connection for five seconds at most", async ({ open, listener, clock }) => {
    const busy = [await open(), await open(), await open()];
    for (const client of busy) await hang(client, listener);
    clock.ms += 5_000;
    await (await open()).get("/open");
    await until(() => busy.some(({ closed }) => closed), "one to be closed");
    expect(busy.map(({ closed }) => closed)).toEqual([true, false, false]);
  });

  test.for(["/forbidden", "/authenticated", "/v1/unknown"])(
    "a connection with a valid key outlives the others, also when its request of %s is refused",
    async (path, { open, listener }) => {
      const authenticated = await open();
      listener.rate.granted = path !== "/authenticated";
      await authenticated.get(path, AUTHORIZATION);
      expect(authenticated.text).toMatch(/^HTTP\/1.1 4(03|04|29)/);
      for (let others = 0; others < 5; others += 1) await (await open()).get("/open");
      expect(authenticated.closed).toBe(false);
    },
  );

  test("an unknown route is not found before the body is read, and its connection is idle then", async ({ open }) => {
    const unknown = await open();
    unknown.write(`POST /unknown HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n[`);
    await until(() => unknown.text.startsWith("HTTP/1.1 404"), "the response");
    const others = [await open(), await open()];
    for (const client of others) await client.get("/authenticated", AUTHORIZATION);
    await (await open()).get("/open");
    await until(() => unknown.closed, "the connection to give way");
    expect(others.map(({ closed }) => closed)).toEqual([false, false]);
  });
});

describe("the connections of a workspace", () => {
  const HEAD = `POST /bodies HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 100\r\n`;

  test.extend("max", () => 5)("a workspace cannot keep all connections busy, and is refused in words", async ({ open, listener }) => {
    const busy = [await open(), await open(), await open()];
    for (const client of busy) client.write(`${HEAD}${AUTHORIZATION}\r\n[`);
    await until(() => listener.share.total === 3, "the requests to be in progress");
    const refused = await open();
    await refused.get("/authenticated", AUTHORIZATION);
    expect(refused.text).toMatch(
      /^HTTP\/1.1 503 .*connection: close.*share of this node's capacity for connections with requests in progress/is,
    );
    await until(() => refused.closed, "the connection to be closed");
    const other = await open();
    await other.get("/authenticated", AUTHORIZATION.replace(KEY, OTHER_KEY));
    expect(other.text).toMatch(/^HTTP\/1.1 200/);
  });

  test("a connection counts while it has a request in progress", async ({ open, listener }) => {
    const client = await open();
    client.write(`${HEAD}${AUTHORIZATION}\r\n[`);
    await until(() => listener.share.total === 1, "the request to be in progress");
    client.write(`${" ".repeat(98)}]`);
    await until(() => client.text !== "", "the response");
    await until(() => listener.share.total === 0, "the connection to be idle");
    client.write(`${HEAD}${AUTHORIZATION}\r\n[`);
    await until(() => listener.share.total === 1, "the request to be in progress");
    client.destroy();
    await until(() => listener.share.total === 0, "the connection to be closed");
  });
});

describe("on localhost", () => {
  base("one server listens, so that all connections are limited", async ({ onTestFinished }) => {
    const authenticator = { findPrincipal: async () => null, operatorToken: null };
    const api = createApi({ authenticator, emit: () => {}, random: systemRandom });
    onTestFinished(() => api.close());
    await listen(api, "localhost", 0);
    expect(api.addresses()).toHaveLength(1);
  });
});

describe("a small body", () => {
  base("a small body that does not arrive in time ends its connection", async ({ onTestFinished }) => {
    const authenticator = { findPrincipal: async () => null, operatorToken: null };
    const api = createApi({ authenticator, emit: () => {}, random: systemRandom, smallBodyTimeoutMs: 50 });
    api.post("/bodies", { schema: { body: {} } }, () => ({}));
    onTestFinished(() => api.close());
    const client = await Client.open(await listen(api, "127.0.0.1", 0));
    client.write(`POST /bodies HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n[`);
    await until(() => client.closed, "the connection to be closed");
    expect(client.text).toContain("The request did not arrive in time.");
  });

  base("a small body that arrived while the node was stalled is served", async ({ onTestFinished }) => {
    const authenticator = { findPrincipal: async () => null, operatorToken: null };
    const api = createApi({ authenticator, emit: () => {}, random: systemRandom, smallBodyTimeoutMs: 500 });
    const begun = Promise.withResolvers<void>();
    api.addHook("onRequest", async () => begun.resolve());
    api.post("/bodies", { schema: { body: {} } }, () => ({ served: true }));
    onTestFinished(() => api.close());
    const client = await Client.open(await listen(api, "127.0.0.1", 0));
    client.write(`POST /bodies HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n[`);
    await begun.promise;
    client.write("]");
    stall(1_500);
    await until(() => client.text.includes("served"), "the response");
    expect(client.text).toContain("HTTP/1.1 200 OK");
  });

  base("a small body that arrives after its request was refused is not served", async ({ onTestFinished }) => {
    const authenticator = { findPrincipal: async () => null, operatorToken: null };
    const api = createApi({ authenticator, emit: () => {}, random: systemRandom, smallBodyTimeoutMs: 50 });
    let served = 0;
    api.post("/bodies", { schema: { body: {} } }, () => ({ served: ++served }));
    onTestFinished(() => api.close());
    const client = await Client.open(await listen(api, "127.0.0.1", 0), true);
    onTestFinished(() => client.destroy());
    client.write(`POST /bodies HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n[`);
    await until(() => client.text.includes("The request did not arrive in time."), "the refusal");
    client.write(`]POST /bodies HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n[]`);
    await until(() => new Promise((resolve) => api.server.getConnections((_error, count) => resolve(count === 0))), "the end of it");
    expect(served).toBe(0);
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
