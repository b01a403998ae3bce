import { createInterface } from "node:readline";
import { type JobAbortedError, Worker, type WorkerJob } from "@tidemill/sdk";

// A worker as a process of its own. Each handler waits for its payload to be read from the standard input, or for its signal; that of "deaf" for nothing. What
// happens is written as lines of JSON.

const [, , url = "", key = "", queue = "", concurrency = ""] = process.argv;
const write = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const waiting = new Map<string, () => void>();
const input = createInterface({ input: process.stdin }).on("line", (payload) => waiting.get(payload)?.());

const logger = Object.fromEntries(
  (["debug", "info", "warn", "error"] as const).map((level) => [
    level,
    (message: string, fields: object = {}) => write({ log: level, message, ...fields }),
  ]),
) as never;

async function handler({ id, attempt, payload, signal }: WorkerJob<string>): Promise<number> {
  write({ event: "started", id, attempt, payload });
  if (payload === "deaf") await new Promise(() => setInterval(() => {}, 1_000));
  await new Promise<void>((resolve, reject) => {
    waiting.set(payload, resolve);
    signal.addEventListener("abort", () => {
      write({ event: "aborted", id, attempt, why: (signal.reason as JobAbortedError).why });
      reject(signal.reason);
    });
  });
  write({ event: "ended", id, attempt });
  return attempt;
}

await new Worker({
  url,
  key,
  queues: { [queue]: handler },
  concurrency: Number(concurrency),
  leaseSeconds: 30,
  name: "frozen",
  logger,
}).run();
input.close();
process.stdin.destroy();
