import { Worker } from "@tidemill/sdk";

interface Order {
  readonly url: string;
  readonly key: string;
  readonly queue: string;
  readonly workers: number;
}

/** Workers of the client that wait for jobs which do not come. */
process.on("message", ({ url, key, queue, workers }: Order) => {
  for (let n = 0; n < workers; n += 1) void new Worker({ url, key, queues: { [queue]: () => {} }, signals: [] }).run();
  process.send?.({});
});
process.on("disconnect", () => process.exit(0));
process.send?.({});
