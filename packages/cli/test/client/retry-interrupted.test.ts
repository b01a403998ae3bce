import { expect } from "vitest";
import { type Fault, FaultyProxy } from "../../../sdk/test/harness/faulty-proxy.ts";
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

test("Ctrl-C while dead letters are retried: code 130, and that the service continues", async ({ command, service, proxy }) => {
  const { queue, counts } = await withDeadLetter(service);
  proxy.onRequest = async ({ method }) => void (method === "POST" && process.emit("SIGINT"));
  expect(await command.run("dlq", "retry", "--queue", queue, "--url", proxy.url)).toEqual({
    code: 130,
    stdout: "",
    stderr: "tidemill: Stopped waiting. The service continues and retries the rest.\n",
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
      /^tidemill: Jobs that were already retried stay retried\. To retry the rest, run the command again\.\ntidemill: No response .*\n$/,
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

/** An operation as the service shows it while it changes jobs. */
const RUNNING = {
  id: "op_01kajv3k4ve6nsd9z5kgtzx0rw",
  action: "cancel",
  state: "running",
  matched: 9,
  matched_exact: true,
  done: 4,
  skipped: 0,
};
const MANY = ["job", "cancel-many", "--queue", "emails", "--yes"];
const GOES_ON = `The service continues: "tidemill operation get ${RUNNING.id}" shows how far it is.`;

/** Responds in place of the service: with an operation that runs, and to a look at it as `look` says. */
const respondWithOperation = (proxy: FaultyProxy, look: () => Fault) => {
  proxy.faultOf = (passed) => (passed.method === "GET" ? look() : respond(RUNNING));
};

const respond = (body: object): Fault => ({ status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

test("Ctrl-C while a command waits for an operation: code 130, and where to see how far it is", async ({ command, proxy }) => {
  respondWithOperation(proxy, () => {
    process.emit("SIGINT");
    return respond({ ...RUNNING, state: "completed" });
  });
  expect(await command.run(...MANY, "--url", proxy.url)).toEqual({
    code: 130,
    stdout: "",
    stderr: `tidemill: Stopped waiting. ${GOES_ON}\n`,
  });
});

test("a service that fails while a command waits for an operation: code 7, and where to see how far it is", async ({ command, proxy }) => {
  respondWithOperation(proxy, () => ({
    status: 503,
    headers: { "content-type": "application/json", "retry-after": "60" },
    body: '{"error":{"code":"UNAVAILABLE","message":"It is full.","details":{}}}',
  }));
  expect(await command.run(...MANY, "--url", proxy.url)).toEqual({
    code: 7,
    stdout: "",
    stderr: `tidemill: ${GOES_ON}\ntidemill: It is full.\n`,
  });
});

test.for(["Ctrl-C", "an error"])(
  "the cursor of a terminal is back when %s ends the wait for an operation",
  async (end, { command, proxy, onTestFinished }) => {
    const { isTTY } = process.stderr;
    onTestFinished(() => void Object.assign(process.stderr, { isTTY }));
    Object.assign(process.stderr, { isTTY: true });
    respondWithOperation(proxy, () => {
      if (end === "Ctrl-C") process.emit("SIGINT");
      return { status: 404 };
    });
    const { stderr } = await command.run(...MANY, "--url", proxy.url);
    const [hide, show] = ["\x1b[?25l", "\x1b[?25h"].map((sequence) => stderr.lastIndexOf(sequence));
    expect(hide).toBeGreaterThan(-1);
    expect(show).toBeGreaterThan(hide ?? 0);
  },
);
