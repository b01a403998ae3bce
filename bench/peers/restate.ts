import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { type Context, createEndpointHandler, service } from "@restatedev/restate-sdk";
import { Agent, fetch } from "undici";
import { STEPS, sayReady } from "../run-orders.ts";

/** How long the ingress may take to know a service. Milliseconds. */
const REGISTERED_MS = 30_000;

/** A service of Restate. `url` is the ingress, `key` the address of its administration. */
sayReady(async ({ url, key: adminUrl, name }, onEnd) => {
  const { promise: firstEnded, resolve: endFirst } = Promise.withResolvers<void>();
  const five = service({
    name,
    handlers: {
      run: async (context: Context, number: number) => {
        for (let at = 0; at < STEPS; at += 1) await context.run(`step ${at}`, () => at);
        if (number === -1) endFirst();
        else onEnd(number);
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
  // The ingress knows a service some time after it was registered.
  const untilMs = performance.now() + REGISTERED_MS;
  for (let first = await send(-1); first.status >= 300; first = await send(-1)) {
    if (first.status !== 404 || performance.now() > untilMs) throw new Error(first.text);
    await wait(20);
  }
  await firstEnded;
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
