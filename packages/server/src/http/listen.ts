import { lookup } from "node:dns/promises";
import type { Api } from "./api.ts";

/**
 * Connections that wait to be accepted. A client whose connection does not fit tries again after 1, 3, 7 and 15 s. With many more, requests
 * that nobody waits for any more would be served before those of others. The kernel may allow fewer.
 */
const BACKLOG = 1_024;
const IDLE_LOOK_MS = 50;
const UNFINISHED_MS = 1_000;
const CUT_EVERY_MS = 20;

/** Closes a listener. Cuts connections that are still open, for example one that never sent anything. */
export async function closeAtOnce(api: Api): Promise<void> {
  const cutting = setInterval(() => api.server.closeAllConnections(), CUT_EVERY_MS);
  await api.close().finally(() => clearInterval(cutting));
}

/** Given `localhost` itself, Fastify opens a second server for its other address, to which what was added to the first does not apply. */
const oneLocalhost = async (): Promise<string> => (await lookup("localhost", { order: "ipv4first" })).address;

/** Listens. Returns the URL at which the listener can be reached. */
export async function listen(api: Api, host: string, port: number): Promise<string> {
  const bindTo = host === "localhost" ? await oneLocalhost() : host;
  await api.listen({ host: bindTo, port, backlog: BACKLOG, listenTextResolver: () => "" });
  const address = api.server.address();
  const bound = typeof address === "object" && address ? address.port : port;
  // The address for all interfaces is not one to connect to. The loopback address is.
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${shown.includes(":") ? `[${shown}]` : shown}:${bound}`;
}

/**
 * Closes a listener. Ends connections when they become idle. After a second, when all complete requests are answered, it ends the other
 * connections too: a client that does not finish its request must not keep a node from stopping.
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
