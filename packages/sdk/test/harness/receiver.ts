import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { until } from "../../../server/test/harness/service.ts";

const EXAMPLES = fileURLToPath(new URL("../../../../examples/", import.meta.url));

/** A program of `examples` as a process of its own. */
export class Receiver {
  readonly #child: ChildProcess;
  output = "";
  #ended = false;

  private constructor(folder: string, command: readonly string[], env: Readonly<Record<string, string>>) {
    const [name = "", ...args] = command;
    this.#child = spawn(name, args, {
      cwd: EXAMPLES + folder,
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/", PORT: "0", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    }
    this.#child.on("exit", () => {
      this.#ended = true;
    });
  }

  /** Starts a receiver of `examples/receivers`. */
  static start(command: readonly string[], secret: string): Promise<Receiver> {
    return Receiver.startIn("receivers", command, { CALLBACK_SECRET: secret });
  }

  static async startIn(folder: string, command: readonly string[], env: Readonly<Record<string, string>>): Promise<Receiver> {
    const receiver = new Receiver(folder, command, env);
    await until(() => receiver.#ended || /^Listening on .*\n/m.test(receiver.output), "the receiver to listen");
    if (receiver.#ended) throw new Error(`The receiver did not start:\n${receiver.output}`);
    return receiver;
  }

  get url(): string {
    const [, port] = /^Listening on .*?(\d+)\D*$/m.exec(this.output) ?? [];
    return `http://127.0.0.1:${port}/callback`;
  }

  async stop(): Promise<void> {
    if (this.#ended) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }
}
