import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Logger, nodeHandler, type ServeOptions, serve, type Tidemill, workflow } from "@tidemill/sdk";
import { expect, vi } from "vitest";
import { until } from "../../../server/test/harness/service.ts";
import type * as realClock from "../../src/clock.ts";
import { test as base } from "../harness/live.ts";

/** How far the clock of executions is ahead of the real one. Milliseconds. */
const clock = vi.hoisted(() => ({ aheadMs: 0 }));

vi.mock("../../src/clock.ts", async (load) => ({
  ...(await load<typeof realClock>()),
  elapsedMs: () => performance.now() + clock.aheadMs,
}));

const quiet = () => {};
const SILENT: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const SECRET = `cbs_${"s".repeat(43)}`;
/** Seconds. Nothing in these tests takes as long. */
const TIMEOUT = 60;

/** Lets a part of the time of an execution pass. */
function pass(part: number): void {
  clock.aheadMs += part * TIMEOUT * 1_000;
}

const test = base.extend("host", async ({ live }, { onCleanup }) => {
  const closing: (() => Promise<unknown>)[] = [];
  onCleanup(async () => {
    for (const close of closing) await close();
  });
  /** Serves workflows at an address, and registers them. Returns the outcomes of executions. */
  return async (...workflows: ServeOptions["workflows"]) => {
    const handler = serve({ url: live.url, key: live.key, workflows, secret: SECRET, logger: SILENT });
    const outcomes: string[] = [];
    const noting = async (request: Request): Promise<Response> => {
      const response = await handler(request);
      outcomes.push(((await response.clone().json()) as { outcome: string }).outcome);
      return response;
    };
    const listener = nodeHandler(Object.assign(noting, { register: handler.register }));
    const server = createServer((request, response) => void listener(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const endpointUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await handler.register({ endpointUrl, endpointTimeout: TIMEOUT });
    return outcomes;
  };
});

const start = async (tidemill: Tidemill, id: string): Promise<string> => (await tidemill.workflows.trigger(id, {})).runIds[0] ?? "";

const untilStatus = (tidemill: Tidemill, runId: string, status: string) =>
  until(async () => (await tidemill.runs.get(runId)).status === status, `run ${runId} to be ${status}`);

test("a run may take longer than an execution: each begins no step after half of its time, and the next one continues", async ({
  live: { tidemill },
  host,
}) => {
  const executed: number[] = [];
  const long = workflow({ id: "long", attempts: 1 }, async ({ step, run }) => {
    for (let part = 0; part < 12; part += 1) {
      await step.run("part", () => {
        executed.push(part);
        pass(0.4);
      });
    }
    return run.attempt;
  });
  const outcomes = await host(long);
  const runId = await start(tidemill, "long");
  await untilStatus(tidemill, runId, "completed");
  expect(executed).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(await tidemill.runs.get(runId)).toMatchObject({ result: 1, attempt: 1, error: null });
  expect(outcomes).toEqual(["released", "released", "released", "released", "released", "completed"]);
});
