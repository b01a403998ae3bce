import net from "node:net";
import { describe, expect, onTestFinished } from "vitest";
import { type Database, sql, uuidOf } from "#kernel";
import { countWaiting, hold } from "../harness/locks.ts";
import { testWith } from "../harness/nodes.ts";
import { type Service, until } from "../harness/service.ts";
import { shareFigure } from "../harness/shares.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

/** Requests and responses have 32 MiB of it. */
const test = testWith({ TIDEMILL_MEMORY_MB: "384" });

const STEPS = 14;
const OUTPUT = "x".repeat(1_000_000);

/** Of the first statement about a run. */
const FIND_RUN = "from run r join lane l";
const MARK_WATCHED = "update run set watched_until";

/** Runs that wait for a worker, with journals of 14 MB. */
async function long(service: Service, { trigger, take, end }: TestWorkflow, count = 1): Promise<string[]> {
  const runs = [];
  for (let at = 0; at < count; at += 1) {
    await trigger();
    runs.push(await take());
  }
  for (const { runId, lease_token } of runs) {
    for (let at = 0; at < STEPS; at += 1) {
      const steps = [{ key: `s${at}`, type: "run", status: "completed", output: OUTPUT }];
      await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });
    }
  }
  for (const run of runs) await end(run, { outcome: "released" });
  return runs.map(({ runId }) => runId);
}

/** Sends a request, and does not read its response. */
function leave(service: Service, head: string): net.Socket {
  const { hostname, port } = new URL(service.node.url);
  const socket = net.connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.pause();
  socket.write(`${head} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${service.key}\r\n\r\n`);
  return socket;
}

/** Sends so many requests about runs. None goes on before all of them execute a statement with this text. */
async function together<Sent>(service: Service, engine: Database, requests: number, text: string, send: () => Sent): Promise<Sent> {
  const lock = hold(engine, sql`lock table run in access exclusive mode`);
  await lock.held;
  const sent = send();
  await until(async () => (await countWaiting(service.database, text)) === requests, `${requests} statements to wait`);
  await lock.release();
  return sent;
}

/** The data of the first event of a run. Nothing follows it. */
async function firstEvent(service: Service, runId: string): Promise<unknown> {
  const response = await fetch(`${service.node.url}/v1/runs/${runId}/events`, { headers: { authorization: `Bearer ${service.key}` } });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    chunks.push(chunk);
    if (Buffer.from(chunk.subarray(-2)).toString() === "\n\n") break;
  }
  const [, data] = /^data: (.*)$/m.exec(Buffer.concat(chunks).toString()) ?? [];
  return JSON.parse(data ?? "");
}

const figure = (service: Service, name: "held" | "waiting") => shareFigure(service, "request_memory", name);

describe("a run with a long journal", () => {
  test("is shown whole, and so it is to those who follow it", async ({ service }) => {
    const flow = await putWorkflow(service);
    const [runId = ""] = await long(service, flow);
    const run = await flow.get(runId);
    expect(run.steps.map(({ key, output }) => [key, (output as string).length])).toEqual(
      Array.from({ length: STEPS }, (_, at) => [`s${at}`, OUTPUT.length]),
    );
    expect(await firstEvent(service, runId)).toEqual(run);
    await until(async () => (await figure(service, "held")) === 0, "all to be taken");
  });

  test("is read while its workspace has any room for it, and then waits", async ({ service, engine }) => {
    const [first, second, third] = await long(service, await putWorkflow(service), 3);
    const [unread, reply] = await together(service, engine, 3, FIND_RUN, () => [
      [first, second].map((runId) => leave(service, `GET /v1/runs/${runId}`)),
      service.api("GET", `/v1/runs/${third}`),
    ]);
    await until(async () => (await figure(service, "waiting")) === 1, "one of the three responses to wait");
    expect(await figure(service, "held")).toBeLessThan(3 * STEPS * OUTPUT.length);
    for (const socket of unread) socket.destroy();
    await reply;
    await until(async () => (await figure(service, "held")) === 0, "nothing to be held");
  });

  test("is changed when there is room for the response", async ({ service, engine }) => {
    const runIds = await long(service, await putWorkflow(service), 3);
    const send = () => new Map(runIds.map((runId) => [runId, leave(service, `POST /v1/runs/${runId}/cancel`)]));
    const sockets = await together(service, engine, 3, FIND_RUN, send);
    const runsThatAre = async (status: string) => {
      const runs = await service.database.query<{ id: string }>("select id from run where status = $1::run_status", [status]);
      return runIds.filter((runId) => runs.some(({ id }) => id === uuidOf("run", runId)));
    };
    await until(async () => (await runsThatAre("cancelled")).length === 2, "two of the three runs to be cancelled");
    expect(await figure(service, "waiting")).toBe(1);
    const [last = ""] = await runsThatAre("running");
    for (const [runId, socket] of sockets) if (runId !== last) socket.destroy();
    await until(async () => (await runsThatAre("cancelled")).length === 3, "the last run to be cancelled");
    sockets.get(last)?.destroy();
    await until(async () => (await figure(service, "held")) === 0, "nothing to be held");
  });

  test("that readers follow is read while their workspace has any room for it, and then they wait", async ({ service, engine }) => {
    const runIds = await long(service, await putWorkflow(service), 3);
    const send = () => runIds.map((runId) => leave(service, `GET /v1/runs/${runId}/events`));
    const sockets = await together(service, engine, 3, MARK_WATCHED, send);
    await until(async () => (await figure(service, "waiting")) === 1, "one of the three readers to wait");
    expect(await figure(service, "held")).toBeLessThan(3 * STEPS * OUTPUT.length);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await figure(service, "held")) + (await figure(service, "waiting")) === 0, "nothing to be held");
  });
});
