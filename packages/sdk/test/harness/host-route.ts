import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";

/** Calls a route handler for each request, as Next does. Returns its address, and what closes it. */
export async function hostRoute(
  route: (request: Request) => Promise<Response>,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const server = createServer(async (incoming, outgoing) => {
    const request = new Request(`http://localhost${incoming.url}`, {
      method: incoming.method ?? "POST",
      headers: incoming.headers as Record<string, string>,
      body: Readable.toWeb(incoming) as ReadableStream,
      duplex: "half",
    } as RequestInit);
    const response = await route(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
