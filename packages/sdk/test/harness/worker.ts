import { type Logger, Worker, type WorkerOptions } from "@tidemill/sdk";
import { test as base } from "./client.ts";

/** A line that a worker has logged. */
interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A logger that keeps its lines. */
export class Log implements Logger {
  readonly lines: Line[] = [];
  readonly debug = this.#at("debug");
  readonly info = this.#at("info");
  readonly warn = this.#at("warn");
  readonly error = this.#at("error");

  #at(level: string) {
    return (message: string, fields: Readonly<Record<string, unknown>> = {}) => void this.lines.push({ level, message, fields });
  }
}

export interface StartedWorker extends Worker {
  /** What `run` returned. */
  readonly done: Promise<void>;
}

/** Starts workers that are stopped after the test. */
export const test = base.extend("worker", async ({ service }, { onCleanup }) => {
  const started: Worker[] = [];
  onCleanup(async () => {
    await Promise.all(started.map((one) => one.stop()));
  });
  return (queues: NonNullable<WorkerOptions["queues"]>, options: Partial<WorkerOptions> = {}): StartedWorker => {
    const one = new Worker({ url: service.node.url, key: service.key, queues, signals: [], logger: new Log(), ...options });
    started.push(one);
    const done = one.run();
    done.catch(() => {});
    return Object.assign(one, { done });
  };
});
