import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { until } from "../../../server/test/harness/service.ts";

const EXAMPLES = fileURLToPath(new URL("../../../../examples/receivers/", import.meta.url));

/** A receiver of `examples/receivers` as a process of its own. */
export class Receiver {
  readonly #child: ChildProcess;
  output = "";
  #ended = false;

  private constructor(command: readonly string[], secret: string) {
    const [name = "", ...args] = command;
    this.#child = spawn(name, args, {
      cwd: EXAMPLES,
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/", PORT: "0", CALLBACK_SECRET: secret },
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

  static async start(command: readonly string[], secret: string): Promise<Receiver> {
    const receiver = new Receiver(command, secret);
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
