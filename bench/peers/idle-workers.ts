import { setTimeout as wait } from "node:timers/promises";
import { Worker } from "@tidemill/sdk";

interface Order {
  readonly url: string;
  readonly key: string;
  readonly queue: string;
  readonly workers: number;
  /** The time in which they start. */
  readonly seconds: number;
}

/** Workers of the client that wait for jobs which do not come. */
process.on("message", async ({ url, key, queue, workers, seconds }: Order) => {
  for (let n = 0; n < workers; n += 1) {
    void new Worker({ url, key, queues: { [queue]: () => {} }, signals: [] }).run();
    await wait((seconds * 1_000) / workers);
  }
  process.send?.({});
});
process.on("disconnect", () => process.exit(0));
process.send?.({});
