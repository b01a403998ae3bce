import { spawnSync } from "node:child_process";
import type { Tidemill } from "@tidemill/sdk";
import { afterEach, describe, expect, vi } from "vitest";
import { POST } from "../../../examples/receivers/next-route.ts";
import { until } from "../../server/test/harness/service.ts";
import { hostRoute } from "./harness/host-route.ts";
import { test } from "./harness/live.ts";
import { Receiver } from "./harness/receiver.ts";

const hasPython = spawnSync("python3", ["--version"]).status === 0;

const node = (file: string) => [process.execPath, "--conditions=source", file];
const RECEIVERS: Readonly<Record<string, readonly string[]>> = {
  node: node("node.ts"),
  express: node("express.ts"),
  fastify: node("fastify.ts"),
  hono: node("hono.ts"),
  python: ["python3", "python.py"],
};

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  vi.unstubAllEnvs();
});

/** Creates a queue, starts a receiver that has its secret, and enqueues a job for it. Returns the job when it has finished. */
async function deliver(tidemill: Tidemill, start: (secret: string) => Promise<string>) {
  // The secret is made with the address, and the receiver's address is known only when it listens.
  const { name, callback_secret = "" } = await tidemill.queues.create({ name: "mails", callback_url: "http://127.0.0.1:9/", paused: true });
  const url = await start(callback_secret);
  await tidemill.queues.update(name, { callback_url: url, paused: false });
  const queue = tidemill.queue(name);
  const { id } = await queue.enqueue({ to: "ada@example.com", ünïcödé: "🌊" });
  await until(
    async () => ["completed", "failed"].includes((await queue.jobs.get(id)).state) || (await queue.jobs.get(id)).attempt > 1,
    "the job to finish",
  );
  return { url, job: await queue.jobs.get(id) };
}

/** What a receiver responds to requests that the service did not sign: with a body, and without one. */
async function forge(url: string): Promise<number[]> {
  const headers = {
    "content-type": "application/json",
    "x-service-job-id": "job_01kajv3k4ve6nsd9z5kgtzx0rw",
    "x-service-timestamp": String(Math.floor(Date.now() / 1000)),
    "x-service-signature": `v1,${Buffer.alloc(32).toString("base64")}`,
  };
  const bodies = ['{"payload":{"to":"eve@example.com"}}', null];
  return Promise.all(bodies.map(async (body) => (await fetch(url, { method: "POST", headers, body })).status));
}

/** The same for requests without a signature: with no body, with text, and with a form, which Fastify does not take (415). */
const scan = (url: string): Promise<number[]> =>
  Promise.all([null, "hello", new URLSearchParams({ a: "b" })].map(async (body) => (await fetch(url, { method: "POST", body })).status));

describe("the receivers of the examples", () => {
  test.for(Object.entries(RECEIVERS))("%s", async ([name, command], { live, skip }) => {
    skip(name === "python" && !hasPython, "python3 is not on this machine");
    const started: Receiver[] = [];
    const { url, job } = await deliver(live.tidemill, async (secret) => {
      const receiver = await Receiver.start(command, secret);
      ends.push(() => receiver.stop());
      started.push(receiver);
      return receiver.url;
    });
    expect(job).toMatchObject({ state: "completed", attempt: 1, result: { sent: "ada@example.com" } });
    expect(started[0]?.output).toContain(`${job.id}: a mail to ada@example.com`);
    expect(await forge(url)).toEqual([401, 401]);
    expect(await scan(url)).toEqual([401, 401, name === "fastify" ? 415 : 401]);
    expect(started[0]?.output).not.toContain("eve@example.com");
  });

  test("Next's route handler", async ({ live }) => {
    const log = vi.spyOn(console, "log").mockReturnValue();
    ends.push(async () => log.mockRestore());
    const { url, job } = await deliver(live.tidemill, async (secret) => {
      vi.stubEnv("CALLBACK_SECRET", secret);
      const { url: route, close } = await hostRoute(POST);
      ends.push(close);
      return route;
    });
    expect(job).toMatchObject({ state: "completed", attempt: 1, result: { sent: "ada@example.com" } });
    expect(await forge(url)).toEqual([401, 401]);
    expect(await scan(url)).toEqual([401, 401, 401]);
  });
});
