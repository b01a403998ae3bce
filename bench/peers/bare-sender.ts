import { createHmac } from "node:crypto";
import { Agent } from "undici";

/**
 * The yardstick of delivery: a loop that signs a body and posts it with undici, and does nothing else: no claim, no settle, no
 * database. Told how many over IPC, it says how long they took.
 */
interface Order {
  readonly url: string;
  readonly body: string;
  readonly requests: number;
  readonly connections: number;
}

process.on("message", (order: Order) => void run(order).then((seconds) => process.send?.({ seconds })));
process.on("disconnect", () => process.exit(0));
process.send?.({ ready: true });

async function run({ url, body, requests, connections }: Order): Promise<number> {
  const { origin, pathname } = new URL(url);
  const agent = new Agent({ pipelining: 1, connections });
  const startedMs = performance.now();
  let left = requests;
  const lane = async () => {
    while (left-- > 0) {
      const timestamp = Math.floor(Date.now() / 1000);
      const id = `job_${left.toString(36).padStart(26, "0")}`;
      const signature = `v1,${createHmac("sha256", "cbs_pJ0yqXcS3nUzvR1bW5d8tKfHmLgQaEoYiCxN2V7T4Zs").update(`${id}.${timestamp}.${body}`).digest("base64")}`;
      const answer = await agent.request({
        origin,
        path: pathname,
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          "User-Agent": "bare",
          "X-Service-Job-Id": id,
          "X-Service-Attempt": "1",
          "X-Service-Timestamp": String(timestamp),
          "X-Service-Signature": signature,
        },
        body,
      });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  const seconds = (performance.now() - startedMs) / 1000;
  await agent.close();
  return seconds;
}
