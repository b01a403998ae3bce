import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { type Context, createEndpointHandler, service } from "@restatedev/restate-sdk";
import { Agent, fetch } from "undici";
import { STEPS, sayReady } from "../run-orders.ts";

/** A service of Restate. `url` is the ingress, `key` the address of its administration. */
sayReady(async ({ url, key: adminUrl, name }, onEnd) => {
  const five = service({
    name,
    handlers: {
      run: async (context: Context, number: number) => {
        for (let at = 0; at < STEPS; at += 1) await context.run(`step ${at}`, () => at);
        onEnd(number);
      },
    },
  });
  const server = createServer(createEndpointHandler({ services: [five] })).listen(0, "127.0.0.1");
  await once(server, "listening");
  const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const registered = await fetch(`${adminUrl}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri }),
  });
  if (!registered.ok) throw new Error(await registered.text());
  const dispatcher = new Agent({ connections: 64 });
  return {
    async start(number) {
      const response = await fetch(`${url}/${name}/run/send`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: String(number),
        dispatcher,
      });
      if (!response.ok) throw new Error(await response.text());
      await response.text();
    },
    async close() {
      await dispatcher.close();
      server.close();
    },
  };
});
