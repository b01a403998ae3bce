import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("worker-program.ts", import.meta.url));

/** A line that the program has written: an event of a handler, or a message of the worker's logger. */
interface Line {
  readonly event?: string;
  readonly log?: string;
  readonly message?: string;
  readonly id?: string;
  readonly job?: string;
  readonly attempt?: number;
  readonly why?: string;
}

/** The worker `frozen` as a process of its own (`worker-program.ts`). */
export class WorkerProcess {
  readonly #child: ChildProcess;
  #output = "";

  constructor(options: { readonly url: string; readonly key: string; readonly queue: string; readonly concurrency: number }) {
    const { url, key, queue, concurrency } = options;
    this.#child = spawn(process.execPath, ["--conditions=source", PROGRAM, url, key, queue, String(concurrency)], {
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Lets the handlers of these payloads end. */
  endHandlers(payloads: readonly string[]): void {
    this.#child.stdin?.write(payloads.map((payload) => `${payload}\n`).join(""));
  }

  get lines(): Line[] {
    return this.#output
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  }

  /** `<job> <attempt>` for each event of this name. */
  seen(name: string): string[] {
    return this.lines.filter(({ event }) => event === name).map(({ id, attempt }) => `${id} ${attempt}`);
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async kill(): Promise<void> {
    if (this.hasEnded) return;
    this.signal("SIGKILL");
    await once(this.#child, "exit");
  }
}
