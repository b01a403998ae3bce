import { Tidemill, Worker } from "@tidemill/sdk";
import { CONCURRENCY, PAYLOAD, sayReady } from "../client-orders.ts";

/** The client of Tidemill. */
sayReady(({ url, key, queue: name }) => {
  const queue = new Tidemill({ url, key }).queue(name);
  return {
    enqueue: () => queue.enqueue(PAYLOAD),
    enqueueMany: (payloads) => queue.enqueueMany(payloads.map((payload) => ({ payload }))),
    async work(onDone) {
      const worker = new Worker({ url, key, queues: { [name]: onDone }, concurrency: CONCURRENCY, signals: [] });
      const running = worker.run();
      return { stop: () => worker.stop().then(() => running) };
    },
    close: async () => {},
  };
});
