import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { CONCURRENCY, PAYLOAD, sayReady } from "../client-orders.ts";

/** BullMQ on Redis. */
sayReady(({ url, queue: name }) => {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new Queue(name, { connection });
  return {
    enqueue: () => queue.add("email", PAYLOAD),
    enqueueMany: (payloads) => queue.addBulk(payloads.map((data) => ({ name: "email", data }))),
    async work(onDone) {
      const worker = new Worker(name, async () => {}, { connection, concurrency: CONCURRENCY });
      worker.on("completed", onDone);
      return { stop: () => worker.close() };
    },
    async close() {
      await queue.close();
      connection.disconnect();
    },
  };
});
