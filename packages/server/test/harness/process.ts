import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { MASTER_KEY, until } from "./service.ts";
import { serviceLog } from "./service-log.ts";

const REPOSITORY = fileURLToPath(new URL("../../../../", import.meta.url));

/** The bootstrap key of every node, so that a test knows it in advance. */
export const KEY = "svc_ws_TheKeyThatTheFaultTestsUse";

/** Environment variables of a program, besides `PATH` and `HOME`. */
export type Settings = Readonly<Record<string, string>>;

/** How a program ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The `tidemill` command as a process of its own, bundled (`harness/command.ts`), with all that it writes. Nothing of our own environment
 * reaches it.
 */
export class Program {
  readonly #child: ChildProcess;
  readonly #ending: Promise<Ending>;
  stdout = "";
  stderr = "";
  ended: Ending | null = null;

  constructor(args: readonly string[], settings: Settings = {}, runAs?: RunAs) {
    const command = inject("command");
    // The compiled code of a bundle is removed with it.
    const compiled = path.join(path.dirname(command), "compiled");
    this.#child = spawn(process.execPath, [command, ...args], {
      cwd: REPOSITORY,
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/", NODE_COMPILE_CACHE: compiled, ...settings },
      stdio: ["ignore", "pipe", "pipe"],
      ...runAs,
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    serviceLog.watch(this);
    this.#ending = once(this.#child, "close").then(([code, signal]) => {
      this.ended = { code: code as number | null, signal: signal as NodeJS.Signals | null };
      return this.ended;
    });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Stops reading the output, as when a terminal is closed. */
  hangUp(): void {
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  /** Waits until the program has ended, at most as long as `until` waits. */
  async end(): Promise<Ending> {
    await until(() => this.ended !== null, "a process to end").catch((error: Error) => {
      throw new Error(`${error.message} It wrote:\n${this.stdout}${this.stderr}`);
    });
    return this.#ending;
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#ending;
  }

  /** The logged events, oldest first. */
  get events(): { msg: string; [field: string]: unknown }[] {
    return this.stderr
      .split("\n")
      .filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line) => JSON.parse(line) as { msg: string });
  }

  logged(event: string): number {
    return this.events.filter(({ msg }) => msg === event).length;
  }
}

/** A node in its own process: `tidemill up`. */
export class NodeProcess extends Program {
  /** Ends the lease of a node that was killed. It would last for its seconds, and a short lease may end on a node that was not killed. */
  async endLease(query: (text: string) => Promise<unknown>): Promise<void> {
    const started = this.events.find(({ msg }) => msg === "node_started");
    await query(`update lease set expires_at = now() where id = ${Number(started?.leaseId)}`);
  }

  constructor(settings: Settings, runAs?: RunAs) {
    const defaults = {
      TIDEMILL_PORT: "0",
      TIDEMILL_INTERNAL_PORT: "0",
      TIDEMILL_BOOTSTRAP_KEY: KEY,
      TIDEMILL_MASTER_KEY: MASTER_KEY,
      TIDEMILL_LOG_LEVEL: "info",
    };
    super(["up"], { ...defaults, ...settings }, runAs);
  }

  /** Waits until the node is ready. If it ends instead, throws an error with its output. */
  async ready(): Promise<this> {
    await until(() => this.ended !== null || this.stdout.endsWith("\n\n"), "a node to be up");
    if (this.ended) throw new Error(`The node did not start:\n${this.stdout}${this.stderr}`);
    return this;
  }

  get url(): string {
    return this.#shown("API");
  }

  get internalUrl(): string {
    return this.#shown("Metrics").replace(/\/metrics$/, "");
  }

  /** The API key that a first start prints. Null if there is none. */
  get shownKey(): string | null {
    return /^ {2}Key {6}(svc_ws_\S+)$/m.exec(this.stdout)?.[1] ?? null;
  }

  #shown(label: string): string {
    const found = new RegExp(`^ {2}${label} +(\\S+)$`, "m").exec(this.stdout)?.[1];
    if (!found) throw new Error(`The node shows no ${label}:\n${this.stdout}`);
    return found;
  }
}
