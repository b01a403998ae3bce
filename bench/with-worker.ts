import { Tidemill, Worker, type WorkerOptions } from "@tidemill/sdk";
import type { BenchNode } from "./environment.ts";

/** Runs a worker of these workflows while `use` runs. They are registered before. */
export async function withWorker(
  node: BenchNode,
  key: string,
  workflows: NonNullable<WorkerOptions["workflows"]>,
  use: (client: Tidemill) => Promise<void>,
): Promise<void> {
  const where = { url: node.url, key };
  const client = new Tidemill(where);
  for (const { id } of workflows) await client.workflows.put(id);
  const worker = new Worker({ ...where, workflows, concurrency: 100, signals: [], replayEachStep: false, logger: silent });
  const running = worker.run();
  await use(client);
  await worker.stop();
  await running;
}

const ignore = () => {};
/** The logger of a worker that logs nothing. */
export const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };
