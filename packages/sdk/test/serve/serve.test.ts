import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { serve as serveHono } from "@hono/node-server";
import {
  expressHandler,
  fastifyPlugin,
  honoHandler,
  type Logger,
  nextHandler,
  nodeHandler,
  type Serve,
  type ServeOptions,
  serve,
  type Tidemill,
  type WorkflowContext,
  workflow,
} from "@tidemill/sdk";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { describe, expect } from "vitest";
import { until } from "../../../server/test/harness/service.ts";
import { test as base } from "../harness/live.ts";

const quiet = () => {};
const SILENT: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const SECRET = `cbs_${"s".repeat(43)}`;

/** Lets an application listen. Returns its address, and what closes it. */
type Host = (handler: Serve) => Promise<{ url: string; close: () => Promise<unknown> }>;

async function listen(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tidemill`, close };
}

const HOSTS: Readonly<Record<string, Host>> = {
  node: (handler) => listen(nodeHandler(handler)),
  express: (handler) => listen(express().post("/tidemill", expressHandler(handler))),
  "express, with its raw parser": (handler) =>
    listen(express().post("/tidemill", express.raw({ type: "application/json", limit: "4mb" }), expressHandler(handler))),
  async fastify(handler) {
    const app = Fastify();
    await app.register(fastifyPlugin(handler, { path: "/tidemill" }));
    await app.listen({ port: 0, host: "127.0.0.1" });
    return { url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/tidemill`, close: () => app.close() };
  },
  hono: (handler) =>
    new Promise((resolve) => {
      const app = new Hono().post("/tidemill", honoHandler(handler));
      const server = serveHono({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) =>
        resolve({ url: `http://127.0.0.1:${port}/tidemill`, close: () => new Promise((done) => server.close(done)) }),
      );
    }),
  async next(handler) {
    const app = new Hono();
    const { POST } = nextHandler(handler);
    app.post("/tidemill", (context) => POST(context.req.raw));
    return (HOSTS.hono as Host)(((request: Request) => app.fetch(request)) as Serve);
  },
};

const test = base.extend("host", async ({ live }, { onCleanup }) => {
  const closing: (() => Promise<unknown>)[] = [];
  onCleanup(async () => {
    for (const close of closing) await close();
  });
  /** Serves workflows at an address, and registers them. */
  return async (workflows: ServeOptions["workflows"], host: Host = HOSTS.node as Host, options: Partial<ServeOptions> = {}) => {
    const handler = serve({ url: live.url, key: live.key, workflows, secret: SECRET, logger: SILENT, ...options });
    const { url, close } = await host(handler);
    closing.push(close);
    await handler.register({ endpointUrl: url });
    return { handler, url };
  };
});

const start = async (tidemill: Tidemill, id: string, input: unknown = null): Promise<string> =>
  (await tidemill.workflows.trigger(id, { input })).runIds[0] ?? "";

const untilStatus = (tidemill: Tidemill, runId: string, status: string) =>
  until(async () => (await tidemill.runs.get(runId)).status === status, `run ${runId} to be ${status}`);

describe("serve executes runs in", () => {
  test.for(Object.keys(HOSTS))("%s", async (name, { live: { tidemill }, host }) => {
    const executed: string[] = [];
    const ended: unknown[] = [];
    const onboard = workflow(
      { id: "onboard", onSuccess: ({ result }) => void ended.push(result) },
      async ({ input, step }: WorkflowContext<{ name: string }>) => {
        const loaded = await step.run("load", () => executed.push("load"));
        await step.sleep("nap", 1);
        return `${input.name} ${loaded} ${await step.run("greet", () => executed.push("greet"))}`;
      },
    );
    await host([onboard], HOSTS[name]);
    const runId = await start(tidemill, "onboard", { name: "Ada" });
    await untilStatus(tidemill, runId, "completed");
    expect(await tidemill.runs.get(runId)).toMatchObject({
      result: "Ada 1 2",
      attempt: 1,
      steps: [{ key: "load" }, { key: "nap" }, { key: "greet" }],
    });
    await until(() => ended.length > 0, "onSuccess to fire");
    expect(ended).toEqual(["Ada 1 2"]);
    expect(executed).toEqual(["load", "greet"]);
  });
});
