import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import pg from "pg";
import { PAYLOAD, sayReady } from "../client-orders.ts";

const CONCURRENCY = 24;
const logger = new Logger(() => () => {});

/** graphile-worker, with the settings of its own benchmark: a local queue of 500 jobs, and outcomes written in batches. */
sayReady(async ({ url, queue: name }) => {
  const pgPool = new pg.Pool({ ...JSON.parse(url), max: CONCURRENCY });
  // It warns of pools without them.
  for (const event of ["error", "connect"]) pgPool.on(event as "error", () => {});
  await runMigrations({ pgPool, logger });
  const utils = await makeWorkerUtils({ pgPool, logger });
  return {
    enqueue: () => utils.addJob(name, PAYLOAD),
    enqueueMany: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: name, payload }))),
    async work(onDone) {
      const runner = await run({
        pgPool,
        logger,
        taskList: { [name]: onDone },
        noHandleSignals: true,
        preset: { worker: { concurrentJobs: CONCURRENCY, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      });
      return { stop: () => runner.stop() };
    },
    async close() {
      await utils.release();
      await pgPool.end();
    },
  };
});
