import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A process of the bench's own, spoken to over IPC. */
export class Peer {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Starts a file of bench/peers/ and waits for the first thing it says. */
  static async start<Said>(file: string, env: Record<string, string> = {}): Promise<{ peer: Peer; said: Said }> {
    const child = fork(fileURLToPath(new URL(`peers/${file}.ts`, import.meta.url)), {
      execArgv: ["--conditions=source"],
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const [said] = (await once(child, "message")) as [Said];
    return { peer: new Peer(child), said };
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("The process did not start.");
    return this.#child.pid;
  }

  async ask<Answer>(question: object): Promise<Answer> {
    this.#child.send(question);
    const [answer] = (await once(this.#child, "message")) as [Answer];
    return answer;
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }
}
