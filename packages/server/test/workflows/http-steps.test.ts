import { describe, expect } from "vitest";
import { test as base } from "../harness/engine.ts";
import { type Answers, Handler } from "../harness/handler.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const test = base
  .extend<"flow", TestWorkflow>("flow", ({ service }) => putWorkflow(service))
  .extend<"server", Handler>("server", async ({}, { onCleanup }) => {
    const server = await Handler.listen(200);
    onCleanup(() => server.close());
    return server;
  });

const json = (body: unknown, status = 200): Answers => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});
const httpStep = (url: string, more: object = {}, key = "fetch") => ({ key, type: "http", status: "waiting", http: { url, ...more } });
const suspended = (...steps: object[]) => ({ outcome: "suspended", steps });

describe("an http step", () => {
  test("is called by the service, and its output is the response", async ({ flow, server }) => {
    server.answers = json({ name: "Ada" });
    const runId = await flow.trigger();
    await flow.end(await flow.take(), suspended(httpStep(server.url, { method: "POST", body: { id: 1 } })));
    const run = await flow.take();
    expect(run.journal).toMatchObject([
      { key: "fetch", type: "http", status: "completed", output: { status: 200, body: { name: "Ada" } }, error: null, attempt: 1 },
    ]);
    expect(server.received).toMatchObject([
      { raw: '{"id":1}', headers: { "content-type": "application/json", "idempotency-key": `${runId}:fetch` } },
    ]);
  });
});
