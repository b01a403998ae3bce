import { expect } from "vitest";
import { FaultyProxy } from "../../../sdk/test/harness/faulty-proxy.ts";
import { type Service, until } from "../../../server/test/harness/service.ts";
import { test as base } from "./client.ts";

const test = base.extend("proxy", async ({ service }, { onCleanup }) => {
  const proxy = await FaultyProxy.to(service.node.url);
  onCleanup(() => proxy.close());
  return proxy;
});

/** A queue with a dead letter. */
async function withDeadLetter(service: Service): Promise<{ queue: string; counts: () => Promise<{ failed: number; waiting: number }> }> {
  const { queue } = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
  await service.ok("POST", `/v1/queues/${queue}/jobs`, { payload: 1 });
  const counts = async () => {
    const { failed, waiting } = (await service.ok("GET", `/v1/queues/${queue}`)).metrics;
    return { failed, waiting };
  };
  await until(async () => (await counts()).failed === 1, "the job to fail");
  await service.ok("PATCH", `/v1/queues/${queue}`, { paused: true });
  return { queue, counts };
}

test("Ctrl-C while dead letters are retried: code 130, and that the service goes on", async ({ command, service, proxy }) => {
  const { queue, counts } = await withDeadLetter(service);
  proxy.onRequest = async ({ method }) => void (method === "POST" && process.emit("SIGINT"));
  expect(await command.run("dlq", "retry", "--queue", queue, "--url", proxy.url)).toEqual({
    code: 130,
    stdout: "",
    stderr: "tidemill: Stopped waiting. The service goes on and retries the rest.\n",
  });
  await until(async () => (await counts()).waiting === 1, "the service to retry the job");
});

test("a connection that breaks while dead letters are retried: code 7, and what to do", async ({ command, service, proxy }) => {
  const { queue, counts } = await withDeadLetter(service);
  proxy.faults = ["cut after"];
  const { code, stdout, stderr } = await command.run("queue", "retry", queue, "--url", proxy.url);
  expect({ code, stdout, stderr }).toEqual({
    code: 7,
    stdout: "",
    stderr: expect.stringMatching(
      /^tidemill: Jobs that were retried stay so\. To retry the rest, run the command again\.\ntidemill: No response .*\n$/,
    ),
  });
  expect(await counts()).toEqual({ failed: 0, waiting: 1 });
});

test("a service that is not there has retried nothing", async ({ command }) => {
  expect(await command.run("dlq", "retry", "--url", "http://127.0.0.1:9")).toEqual({
    code: 7,
    stdout: "",
    stderr: expect.stringMatching(/^tidemill: No response .*\n$/),
  });
});
