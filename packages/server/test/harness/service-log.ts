import { inspect } from "node:util";

/** As much as is kept of one test: the newest events, and the newest lines of each process. */
const MAX_EVENTS = 300;
const MAX_LINES = 100;

interface Logged {
  readonly atMs: number;
  readonly event: string;
  readonly fields: Record<string, unknown>;
  readonly severity: string;
}

/** What a process of a test has written so far. */
interface Writer {
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What the services of the running test log. A test that passes says nothing of it. */
class ServiceLog {
  #startMs = 0;
  #events: Logged[] = [];
  #writers: Writer[] = [];

  /** Forgets what the test before this one has logged. */
  begin(): void {
    this.#startMs = performance.now();
    this.#events = [];
    this.#writers = [];
  }

  /** Keeps an event of a node in this process; it is formatted only when it is shown. */
  add(event: string, fields: Record<string, unknown>, severity: string): void {
    this.#events.push({ atMs: performance.now(), event, fields, severity });
    if (this.#events.length > 2 * MAX_EVENTS) this.#events = this.#events.slice(-MAX_EVENTS);
  }

  watch(writer: Writer): void {
    this.#writers.push(writer);
  }

  /** The log as text; empty when nothing was logged. */
  show(): string {
    const events = this.#events
      .slice(-MAX_EVENTS)
      .map(
        ({ atMs, event, fields, severity }) =>
          `${(atMs - this.#startMs).toFixed(0).padStart(6)} ms  ${severity.padEnd(5)}  ${event}  ${inspect(fields, { breakLength: Number.POSITIVE_INFINITY })}`,
      );
    const processes = this.#writers.map(
      ({ pid, stdout, stderr }) => `Process ${pid} wrote:\n${(stdout + stderr).trimEnd().split("\n").slice(-MAX_LINES).join("\n")}`,
    );
    return [...events, ...processes].join("\n");
  }
}

export const serviceLog = new ServiceLog();
