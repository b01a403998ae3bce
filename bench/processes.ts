import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const STOP_MS = 20_000;

export interface PeerOptions {
  /** How many file descriptors the process may have open. */
  readonly fileLimit?: number | undefined;
  /**
   * Whether it has a session of its own. Linux divides cores among sessions before it divides a session's part among its processes
   * (autogroups, sched(7)), and each of PostgreSQL's processes has a session of its own.
   */
  readonly ownSession?: boolean;
  /** Called with each line that the process logs, which is not shown then. */
  readonly onLog?: (line: string) => void;
}

/** A process of the bench's own, spoken to over IPC. */
export class Peer {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Starts a file of bench/peers/ and waits for the first thing it says. */
  static async start<Said>(
    file: string,
    env: Record<string, string> = {},
    { fileLimit, ownSession = false, onLog }: PeerOptions = {},
  ): Promise<{ peer: Peer; said: Said }> {
    const args = ["--conditions=source"];
    const limited = ["-c", `ulimit -n ${fileLimit}; exec "$0" "$@"`, process.execPath, ...args];
    const child = fork(fileURLToPath(new URL(`peers/${file}.ts`, import.meta.url)), {
      ...(fileLimit === undefined ? { execArgv: args } : { execPath: "/bin/sh", execArgv: limited }),
      detached: ownSession,
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", onLog ? "pipe" : "inherit", "ipc"],
    });
    if (child.stderr && onLog) createInterface({ input: child.stderr }).on("line", onLog);
    const peer = new Peer(child);
    return { peer, said: await peer.#next<Said>() };
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("The process did not start.");
    return this.#child.pid;
  }

  async ask<Answer>(question: object): Promise<Answer> {
    if (this.#hasExited) throw new Error("The process has exited.");
    this.#child.send(question);
    return this.#next<Answer>();
  }

  /** Lets the process end by itself. After 20 seconds it is killed. */
  async stop(): Promise<void> {
    if (this.#hasExited) return;
    const exited = once(this.#child, "exit");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_MS);
    if (this.#child.connected) this.#child.disconnect();
    await exited.finally(() => clearTimeout(timer));
  }

  get #hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async #next<Message>(): Promise<Message> {
    const stop = new AbortController();
    const exited = once(this.#child, "exit", stop).then(() => {
      throw new Error("The process has exited.");
    });
    try {
      const [message] = (await Promise.race([once(this.#child, "message", stop), exited])) as [Message];
      return message;
    } finally {
      exited.catch(() => {});
      stop.abort();
    }
  }
}
