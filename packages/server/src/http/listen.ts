import type { Api } from "./server.ts";

const IDLE_LOOK_MS = 50;
const UNFINISHED_MS = 1_000;
const CUT_EVERY_MS = 20;

/** Closes a listener. Connections that are still open, one that never said a word say, are cut. */
export async function closeAtOnce(api: Api): Promise<void> {
  const cutting = setInterval(() => api.server.closeAllConnections(), CUT_EVERY_MS);
  await api.close().finally(() => clearInterval(cutting));
}

/** Listens, and answers the address to reach it at. */
export async function listen(api: Api, host: string, port: number): Promise<string> {
  await api.listen({ host, port, listenTextResolver: () => "" });
  const address = api.server.address();
  const bound = typeof address === "object" && address ? address.port : port;
  // An address that stands for all of the machine's is reached at the loopback one.
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${shown.includes(":") ? `[${shown}]` : shown}:${bound}`;
}

/**
 * Ends connections as they become idle, and after a moment those whose request does not come to its end: a client must not hold
 * a stopping node. What has come whole is answered.
 */
export async function closeGently(api: Api): Promise<void> {
  const startedMs = performance.now();
  const timer = setInterval(() => {
    const late = performance.now() - startedMs > UNFINISHED_MS;
    if (late && api.underWay.size === 0) api.server.closeAllConnections();
    else api.server.closeIdleConnections();
  }, IDLE_LOOK_MS);
  await api.close().finally(() => clearInterval(timer));
}
