import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { CALLERS, CONCURRENCY, type Order, sayReady } from "../client-orders.ts";

/** BullMQ on Redis, for the same orders. */
sayReady(async ({ kind, url, queue: name, jobs }: Order) => {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  if (kind === "enqueue") {
    const queue = new Queue(name, { connection });
    let left = jobs;
    const caller = async () => {
      while (left-- > 0) await queue.add("email", { to: "ada@example.com", subject: "Welcome" });
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    await queue.close();
  } else {
    let done = 0;
    const all = Promise.withResolvers<void>();
    const worker = new Worker(name, async () => {}, { connection, concurrency: CONCURRENCY });
    worker.on("completed", () => {
      done += 1;
      if (done === jobs) all.resolve();
    });
    await all.promise;
    await worker.close();
  }
  connection.disconnect();
});
