import { type Logger, Tidemill, Worker, type WorkerOptions } from "@tidemill/sdk";
import { test as base, until } from "../../../server/test/harness/service.ts";

const quiet = () => {};
const SILENT: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** A client of the service, and what starts workers for workflows. They are stopped after the test. */
export const test = base
  .extend("client", ({ service }) => new Tidemill({ url: service.node.url, key: service.key }))
  .extend("worker", async ({ service }, { onCleanup }) => {
    const started: Worker[] = [];
    onCleanup(async () => {
      await Promise.all(started.map((one) => one.stop()));
    });
    return (workflows: NonNullable<WorkerOptions["workflows"]>, options: Partial<WorkerOptions> = {}) => {
      const one = new Worker({ url: service.node.url, key: service.key, workflows, signals: [], logger: SILENT, ...options });
      started.push(one);
      one.run().catch(quiet);
      return one;
    };
  });

export const untilStatus = (client: Tidemill, runId: string, status: string) =>
  until(async () => (await client.runs.get(runId)).status === status, `run ${runId} to be ${status}`);
