import PgBoss from "pg-boss";
import { CONCURRENCY, PAYLOAD, sayReady } from "../client-orders.ts";

/** The shortest that pg-boss accepts. */
const POLLING_SECONDS = 0.5;

/** pg-boss 11, which takes jobs in batches. */
sayReady(async ({ url, queue: name }) => {
  const boss = new PgBoss({ ...JSON.parse(url), supervise: false, schedule: false });
  boss.on("error", (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue(name);
  return {
    enqueue: () => boss.send(name, PAYLOAD),
    enqueueMany: (payloads) =>
      boss.insert(
        name,
        payloads.map((data) => ({ name, data })),
      ),
    async work(onDone) {
      await boss.work(name, { batchSize: CONCURRENCY, pollingIntervalSeconds: POLLING_SECONDS }, async (jobs) => {
        for (const _ of jobs) onDone();
      });
      return { stop: () => boss.offWork(name) };
    },
    close: () => boss.stop({ graceful: true }),
  };
});
