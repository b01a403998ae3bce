import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, type ListenOptions, type Server } from "node:net";
import type { Api } from "./api.ts";

/**
 * Connections that wait to be accepted. A client whose connection does not fit tries again after 1, 3, 7 and 15 s. With a much longer
 * queue, requests that nobody waits for any more would be served before others. The kernel may allow fewer.
 */
const BACKLOG = 1_024;
/** Only on Linux may several sockets share a port. */
const SHARES_PORTS = process.platform === "linux";
const IDLE_LOOK_MS = 50;
const UNFINISHED_MS = 1_000;
const CUT_EVERY_MS = 20;

/** Closes a listener. Cuts connections that are still open, for example one that never sent anything. */
export async function closeImmediately(api: Api): Promise<void> {
  const cutting = setInterval(() => api.server.closeAllConnections(), CUT_EVERY_MS);
  await api.close().finally(() => clearInterval(cutting));
}

/**
 * Resolves `localhost`. For the name itself, Fastify would open a second server for its other address, without what was added to the first.
 */
const resolveLocalhost = async (host: string): Promise<string> =>
  host === "localhost" ? (await lookup("localhost", { order: "ipv4first" })).address : host;

/**
 * Listens. Returns the URL at which the listener can be reached.
 *
 * @param sockets number of sockets of the port, among which the kernel divides new connections. Node accepts one connection per socket in
 *   each turn of the event loop, in about 65 µs. With one socket, a client after 600 new connections of others waits for 600 turns; with
 *   eight sockets it waits for 75. On a busy node, where turns take 25 ms and more, that is 2 s.
 * @throws an error with the code `EADDRINUSE` when another program has the port
 */
export async function listen(api: Api, host: string, port: number, sockets = 1): Promise<string> {
  const bindTo = await resolveLocalhost(host);
  const options = { host: bindTo, backlog: BACKLOG, reusePort: SHARES_PORTS };
  const others: Server[] = [];
  closeWith(api, others);
  // Sockets that share ports would share one with another node that was given the same.
  if (SHARES_PORTS && port !== 0) await checkPorts([{ host: bindTo, port }]);
  await api.listen({ ...options, port, listenTextResolver: () => "" });
  const address = api.server.address();
  const bound = typeof address === "object" && address ? address.port : port;
  while (SHARES_PORTS && others.length < sockets - 1) others.push(await openAnother(api, { ...options, port: bound }));
  // Clients cannot connect to the address for all interfaces. They can connect to the loopback address.
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${shown.includes(":") ? `[${shown}]` : shown}:${bound}`;
}

/**
 * Checks that the ports can be opened: opens all of them for a moment. Port 0 is any free port.
 *
 * @throws an error with the code `EADDRINUSE` when a socket listens there, even one that shares its port
 */
export async function checkPorts(places: readonly { readonly host: string; readonly port: number }[]): Promise<void> {
  const servers: Server[] = [];
  try {
    for (const { host, port } of places) {
      const server = createServer((socket) => socket.destroy());
      await once(server.listen({ host: await resolveLocalhost(host), port }), "listening");
      servers.push(server);
    }
  } finally {
    await Promise.all(servers.map((server) => once(server.close(), "close")));
  }
}

/** Another socket of the API's port. The API's server serves its connections. */
async function openAnother(api: Api, options: ListenOptions): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => api.server.emit("connection", socket));
  await once(server.listen(options), "listening");
  return server;
}

/** The API closes these servers when it begins to close, and is closed when they are. */
function closeWith(api: Api, servers: readonly Server[]): void {
  let closed: Promise<unknown> | undefined;
  api.addHook("preClose", async () => {
    closed = Promise.all(servers.map((server) => once(server.close(), "close")));
  });
  api.addHook("onClose", async () => {
    await closed;
  });
}

/**
 * Closes a listener. Ends connections when they become idle. After a second, when all complete requests are answered, it also ends the
 * other connections: a client that does not finish its request must not keep a node from stopping.
 */
export async function closeGently(api: Api): Promise<void> {
  const startedMs = performance.now();
  const timer = setInterval(() => {
    const late = performance.now() - startedMs > UNFINISHED_MS;
    if (late && api.inFlight.size === 0) api.server.closeAllConnections();
    else api.server.closeIdleConnections();
  }, IDLE_LOOK_MS);
  await api.close().finally(() => clearInterval(timer));
}
