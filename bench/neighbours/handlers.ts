import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** A handler that never answers. Returns its address. */
export const startHanging = (): Promise<string> => listen(createServer((request) => request.resume()));

/** A handler that answers at once, always the same. Returns its address. */
export const startAnswering = (status: number): Promise<string> =>
  listen(
    createServer((request, response) => {
      request.resume();
      response.writeHead(status).end();
    }),
  );

/** A handler that keeps requests until there are `count`, or until none came for two seconds, and answers all of them at once. */
export async function startHolding(count: number, body: string): Promise<string> {
  let held: ServerResponse[] = [];
  const release = () => {
    for (const response of held) response.writeHead(200, { "content-type": "application/json" }).end(body);
    held = [];
  };
  let timer: NodeJS.Timeout | undefined;
  return listen(
    createServer((request, response) => {
      request.resume();
      held.push(response);
      clearTimeout(timer);
      if (held.length >= count) release();
      else timer = setTimeout(release, 2_000);
    }),
  );
}
