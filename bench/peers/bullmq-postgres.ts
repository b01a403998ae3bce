import { createPostgresBackend, Queue, Worker } from "bullmq";
import { CONCURRENCY, PAYLOAD, sayReady } from "../client-orders.ts";

/** BullMQ on PostgreSQL. */
sayReady(({ url, queue: name }) => {
  const connection = { ...JSON.parse(url), schema: "bullmq", migrate: true };
  const queue = new Queue(name, { connection }, createPostgresBackend);
  return {
    enqueue: () => queue.add("email", PAYLOAD),
    enqueueMany: (payloads) => queue.addBulk(payloads.map((data) => ({ name: "email", data }))),
    async work(onDone) {
      const worker = new Worker(name, async () => {}, { connection, concurrency: CONCURRENCY }, createPostgresBackend);
      worker.on("completed", onDone);
      return { stop: () => worker.close() };
    },
    close: () => queue.close(),
  };
});
