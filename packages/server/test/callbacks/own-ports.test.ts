import { networkInterfaces } from "node:os";
import { describe, expect } from "vitest";
import { createAddressGuard, type Response, Sender } from "#outbound";
import { Canary } from "../harness/canary.ts";
import { testWith } from "../harness/nodes.ts";
import type { Service } from "../harness/service.ts";

const MINE = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address, family }) => ({ address, family })));
const HOSTS = ["127.0.0.1", "127.1.2.3", "localhost", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]"];
/** The node may call every address. */
const test = testWith({ TIDEMILL_ENV: "development", TIDEMILL_ALLOW_ADDRESSES: "0.0.0.0/0,::/0" });

async function errorOf(service: Service, callback_url: string) {
  const job = await service.enqueue({ queue: await service.queue({ callback_url }), attempts: 2 });
  await service.untilState(job, "delayed");
  return (await service.job(job)).last_error;
}

describe("a callback to the node itself", () => {
  test.for(HOSTS)("a callback to the node's listeners at %s does not leave: BLOCKED_ADDRESS", async (host, { service, node }) => {
    for (const { port } of [new URL(node.url), new URL(node.internalUrl)]) {
      expect(await errorOf(service, `http://${host}:${port}/hook`)).toEqual({
        code: "BLOCKED_ADDRESS",
        message: expect.stringMatching(new RegExp(`^Port ${port} of .+ is the node itself, which outgoing calls may not reach\\.$`)),
        status: null,
      });
    }
  });

  test("a callback to another port of the machine is sent", async ({ service }) => {
    const handler = await service.handler();
    await service.untilState(await service.enqueue({ queue: handler.queue }), "completed");
  });
});

describe("a call to one of the node's own ports", () => {
  const call = (sender: Sender, origin: string): Promise<unknown> =>
    new Promise((resolve) => {
      const onDone = (response: Response) =>
        resolve(response.kind === "responded" ? response.status : ((response.error as { code?: string }).code ?? response.error));
      sender.send({ origin, path: "/", headers: {}, body: Buffer.from("{}"), maxBodyBytes: 1_000 }, onDone);
    });

  test("a call to one of the node's own ports is refused at every address of the machine, and by every name of one", async ({
    onTestFinished,
  }) => {
    const canary = await Canary.listen();
    const resolve: Parameters<typeof createAddressGuard>[1] = (_hostname, _options, callback) =>
      callback(null, [{ address: "127.0.0.1", family: 4 }]);
    const guard = createAddressGuard({ allowLoopback: true, allowed: ["0.0.0.0/0", "::/0"] }, resolve);
    const [free, bound] = [new Sender(guard), new Sender(guard, () => [canary.port])];
    onTestFinished(async () => void (await Promise.all([free.close(), bound.close(), canary.close()])));
    const addresses = MINE.map(({ address, family }) => (family === "IPv6" ? `[${address}]` : address));
    for (const host of [...addresses, "name.example"]) {
      expect([host, await call(bound, `http://${host}:${canary.port}`)]).toEqual([host, "BLOCKED_ADDRESS"]);
    }
    expect(canary.reached).toEqual([]);
    expect(await call(free, `http://name.example:${canary.port}`)).toBe(200);
  });
});
