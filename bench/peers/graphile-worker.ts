import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import pg from "pg";
import { PAYLOAD, sayReady } from "../client-orders.ts";

const CONCURRENCY = 24;
const logger = new Logger(() => () => {});

/** Milliseconds that a completion waits for others. Negative: each is a statement of its own. */
const BATCH_DELAY_MS = process.env.BENCH_BATCH_COMPLETIONS ? 0 : -1;

/**
 * graphile-worker with a local queue of 500 jobs. Completions in batches, as in its own benchmark, are an extra setting. Either way they are
 * committed when `stop` returns. It deletes jobs that have completed, and keeps no history.
 */
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
        preset: {
          worker: {
            concurrentJobs: CONCURRENCY,
            localQueue: { size: 500 },
            completeJobBatchDelay: BATCH_DELAY_MS,
            failJobBatchDelay: BATCH_DELAY_MS,
          },
        },
      });
      return { stop: () => runner.stop() };
    },
    async close() {
      await utils.release();
      await pgPool.end();
    },
  };
});
