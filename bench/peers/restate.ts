import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
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
  const send = async (number: number) => {
    const response = await fetch(`${url}/${name}/run/send`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: String(number),
      dispatcher,
    });
    return { status: response.status, text: await response.text() };
  };
  // The ingress knows a service some time after it was registered. Nobody waits for the end of this run.
  while ((await send(-1)).status === 404) await wait(20);
  return {
    async start(number) {
      const { status, text } = await send(number);
      if (status >= 300) throw new Error(text);
    },
    async close() {
      await dispatcher.close();
      server.close();
    },
  };
});
