import net from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { createApi, listen, type Principal } from "#http";
import { systemRandom, type Uuid, type WorkspaceId } from "#kernel";

const BODY = '{"name":"A way back"}';
const HEAD = `POST /keys HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer key\r\nContent-Type: application/json\r\nConnection: close\r\n\
Content-Length: ${BODY.length}\r\n\r\n`;

/** Sends a request whose key is revoked when its head has arrived, and its body then. Returns the response, and how often its key was looked up. */
async function sendAround(maxBodyWaitMs: number): Promise<{ response: string; lookUps: number }> {
  const arrived = Promise.withResolvers<void>();
  let lookUps = 0;
  const findPrincipal = async (): Promise<Principal | null> => {
    lookUps += 1;
    arrived.resolve();
    const limits = { plan: "enterprise", requestsPerMinute: null, executionsPerMonth: null } as const;
    const key = { keyId: "key" as Uuid, workspaceId: "ws" as WorkspaceId, role: "admin", queues: null, workflows: null } as const;
    return lookUps === 1 ? { ...key, ...limits } : null;
  };
  const options = { authenticator: { findPrincipal, operatorToken: null }, emit: () => {}, random: systemRandom };
  const api = createApi({ ...options, maxBodyWaitMs });
  api.post("/keys", { config: { access: "admin" }, schema: { body: {} } }, () => ({ made: true }));
  const { hostname, port } = new URL(await listen(api, "127.0.0.1", 0));
  try {
    const socket = net.connect(Number(port), hostname);
    socket.write(HEAD);
    await arrived.promise;
    socket.write(BODY);
    return { response: await text(socket), lookUps };
  } finally {
    await api.close();
  }
}

test("a request whose body takes long is authenticated again: its key may be revoked meanwhile", async () => {
  const { response, lookUps } = await sendAround(0);
  expect(response).toMatch(/^HTTP\/1.1 401 /);
  expect(lookUps).toBe(2);
});

test("a request whose body comes at once is authenticated once", async () => {
  const { response, lookUps } = await sendAround(60_000);
  expect(response).toMatch(/^HTTP\/1.1 200 /);
  expect(lookUps).toBe(1);
});
