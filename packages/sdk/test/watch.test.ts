import { type RunEvent, Tidemill } from "@tidemill/sdk";
import { describe, expect, test as plainTest } from "vitest";
import { test as base } from "../../server/test/harness/service.ts";
import { putWorkflow } from "../../server/test/harness/workflows.ts";
import { EventParser } from "../src/watch/event-parser.ts";
import { failureOf } from "./harness/failure.ts";

const test = base.extend("client", ({ service }) => new Tidemill({ url: service.node.url, key: service.key }));

const nameOf = (event: RunEvent): string => {
  if (event.type === "step") return event.step.key;
  return event.type === "status" ? event.status.status : event.type;
};

describe("live", () => {
  test("says what changes, and that it has connected again", async ({ service }) => {
    let cut = () => {};
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const connection = new AbortController();
      cut = () => connection.abort(new Error("cut"));
      return globalThis.fetch(input, { ...init, signal: AbortSignal.any([connection.signal, init?.signal as AbortSignal]) });
    };
    const client = new Tidemill({ url: service.node.url, key: service.key, fetch });
    const controller = new AbortController();
    const seen: string[] = [];
    const reading = async () => {
      for await (const event of client.live({ signal: controller.signal })) {
        seen.push(event.type === "connected" ? "connected" : event.kinds.join());
        if (seen.length === 1) await service.ok("POST", "/v1/secrets", { name: "LIVE", value: "value" });
        if (seen.length === 2) cut();
        if (seen.length === 3) controller.abort(new Error("enough"));
      }
    };
    expect(await failureOf(reading())).toMatchObject({ message: "enough" });
    expect(seen).toEqual(["connected", "secrets", "connected"]);
  });
});

describe("runs.watch", () => {
  test("yields the run and its changes until it has ended", async ({ service, client }) => {
    const { trigger, take, end } = await putWorkflow(service);
    const runId = await trigger();
    const { lease_token, ...run } = await take();
    const seen: string[] = [];
    for await (const event of client.runs.watch(runId)) {
      seen.push(nameOf(event));
      if (event.type === "run") {
        const step = { key: "a", type: "run", status: "completed" };
        await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [step], progress: { done: 1 } });
      }
      if (event.type === "progress") {
        expect(event.progress).toEqual({ done: 1 });
        await end({ ...run, lease_token }, { outcome: "completed", result: 7 });
      }
      if (event.type === "status") expect(event.status).toMatchObject({ status: "completed", result: 7 });
    }
    expect(seen.sort()).toEqual(["a", "completed", "progress", "run"]);
  });

  test("goes on after the last event when the connection breaks", async ({ service }) => {
    const { trigger, take, end } = await putWorkflow(service);
    const runId = await trigger();
    const run = await take();
    const asked: (string | null)[] = [];
    let cut = () => {};
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const connection = new AbortController();
      cut = () => connection.abort(new Error("cut"));
      asked.push(new Headers(init?.headers).get("last-event-id"));
      return globalThis.fetch(input, { ...init, signal: AbortSignal.any([connection.signal, init?.signal as AbortSignal]) });
    };
    const client = new Tidemill({ url: service.node.url, key: service.key, fetch });
    const seen: string[] = [];
    for await (const event of client.runs.watch(runId)) {
      seen.push(nameOf(event));
      if (event.type !== "run") continue;
      cut();
      await end(run, { outcome: "completed" });
    }
    expect(seen).toEqual(["run", "completed"]);
    expect(asked).toEqual([null, expect.stringMatching(/^0\.0\./)]);
  });

  test("rejects for a run that is not there, and for something other than the service", async ({ service, client }) => {
    expect(await failureOf(client.runs.watch("run_01kajv3k4ve6nsd9z5kgtzx0rw").next())).toMatchObject({ code: "NOT_FOUND" });
    const other = new Tidemill({ url: service.node.url, key: service.key, fetch: async () => new Response("hello") });
    expect(await failureOf(other.runs.watch("run_1").next())).toMatchObject({ code: "UNEXPECTED_RESPONSE" });
  });

  test("is tried again for as long as the client's calls are", async () => {
    let calls = 0;
    const fetch = async () => {
      calls += 1;
      throw new TypeError("no network");
    };
    const client = new Tidemill({ url: "http://127.0.0.1:1", key: "svc_ws_test", fetch, retryForMs: 120 });
    expect(await failureOf(client.runs.watch("run_1").next())).toMatchObject({ code: "NO_RESPONSE" });
    expect(calls).toBeGreaterThan(1);
  });

  test("ends with its signal, and when nobody reads it any more", async ({ service, client }) => {
    const { trigger } = await putWorkflow(service);
    const runId = await trigger();
    const controller = new AbortController();
    const watched = client.runs.watch(runId, { signal: controller.signal });
    await watched.next();
    const next = watched.next();
    controller.abort(new Error("enough"));
    expect(await failureOf(next)).toMatchObject({ message: "enough" });
    for await (const event of client.runs.watch(runId)) {
      expect(event.type).toBe("run");
      break;
    }
  });
});

plainTest("events are read wherever the stream is cut", () => {
  const text = ': heartbeat\n\nretry: 5\nevent: run\nid: 1\ndata: {"a":\ndata: 1}\n\nevent: step\r\ndata: 2\r\n\r\n';
  const expected = [
    { event: "run", id: "1", data: '{"a":\n1}' },
    { event: "step", id: "1", data: "2" },
  ];
  for (let size = 1; size <= text.length; size += 1) {
    const parser = new EventParser();
    const parts = Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));
    expect(parts.flatMap((part) => parser.push(part))).toEqual(expected);
  }
});
