import { Tidemill, Worker } from "@tidemill/sdk";
import { CALLERS, CONCURRENCY, type Order, sayReady } from "../client-orders.ts";

/** The client of Tidemill: enqueues from concurrent callers, or runs jobs that do nothing. */
sayReady(async ({ kind, url, key, queue, jobs }: Order) => {
  if (kind === "enqueue") {
    const emails = new Tidemill({ url, key }).queue(queue);
    let left = jobs;
    const caller = async () => {
      while (left-- > 0) await emails.enqueue({ to: "ada@example.com", subject: "Welcome" });
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    return;
  }
  let done = 0;
  const all = Promise.withResolvers<void>();
  const handler = () => {
    done += 1;
    if (done === jobs) all.resolve();
  };
  const worker = new Worker({ url, key, queues: { [queue]: handler }, concurrency: CONCURRENCY, signals: [] });
  const running = worker.run();
  await all.promise;
  // With the outcomes of the last jobs.
  await worker.stop();
  await running;
});
