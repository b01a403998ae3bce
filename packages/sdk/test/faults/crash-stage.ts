import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Client } from "../../../server/test/harness/client.ts";
import type { Cluster } from "../../../server/test/harness/cluster.ts";
import { KEY, type NodeProcess } from "../../../server/test/harness/process.ts";
import type { Stage } from "../../../server/test/harness/stage.ts";
import { FaultyProxy } from "../harness/faulty-proxy.ts";
import type { Trace } from "./crash-workflows.ts";

const PROGRAM = fileURLToPath(new URL("crash-worker.ts", import.meta.url));
const NODES = 2;
const WORKERS = 2;

/** What may happen while runs are in progress. */
export const FAULTS = ["kill worker", "freeze worker", "kill node", "kill postgres", "cut connection"] as const;
export type Fault = (typeof FAULTS)[number];

interface CrashWorker {
  readonly child: ChildProcess;
  frozen: boolean;
}

/** Two nodes on a PostgreSQL of their own, behind one address, and two workers. Each of them may be killed, and is started again. */
export class CrashStage {
  readonly traces: Trace[] = [];
  /** What the workers wrote besides. */
  complaints = "";
  readonly #stage: Stage;
  readonly #cluster: Cluster;
  readonly #nodes: (NodeProcess & { client: Client })[] = [];
  readonly #workers: CrashWorker[] = [];
  #proxy: FaultyProxy | null = null;
  #requests = 0;
  #started = 0;

  private constructor(stage: Stage, cluster: Cluster) {
    this.#stage = stage;
    this.#cluster = cluster;
  }

  static async start(stage: Stage): Promise<CrashStage> {
    const made = new CrashStage(stage, await stage.cluster());
    for (let at = 0; at < NODES; at += 1) await made.#startNode(at);
    const proxy = await FaultyProxy.to(() => made.#nodes[made.#requests++ % NODES]?.url ?? "");
    stage.finally(() => proxy.close());
    made.#proxy = proxy;
    for (let at = 0; at < WORKERS; at += 1) made.#startWorker(at);
    return made;
  }

  /** The address behind which the nodes are, in turn. */
  get url(): string {
    return this.#proxy?.url ?? "";
  }

  query<Row extends Record<string, unknown>>(text: string): Promise<Row[]> {
    return this.#cluster.query<Row>(text);
  }

  /** Lets something happen, and repairs it. A frozen worker goes on at its next fault, or at the end. */
  async fault(fault: Fault, fraction: number): Promise<void> {
    const at = Math.floor(fraction * 2);
    switch (fault) {
      case "kill worker":
        await this.#killWorker(at);
        return this.#startWorker(at);
      case "freeze worker":
        return this.#freeze(at);
      case "kill node":
        await this.#nodes[at]?.kill();
        return this.#startNode(at);
      case "kill postgres":
        await this.#cluster.stop("killed");
        return this.#cluster.start();
      case "cut connection":
        this.#proxy?.faults.push("cut after", "cut within", "cut before", "cut after");
    }
  }

  /** Lets frozen workers go on. */
  thaw(): void {
    for (const worker of this.#workers) if (worker.frozen) this.#thaw(worker);
  }

  async #startNode(at: number): Promise<void> {
    const settings = { DATABASE_URL: this.#cluster.url(), TIDEMILL_NODE_LEASE_SECONDS: "2" };
    this.#nodes[at] = await this.#stage.node(settings);
  }

  #startWorker(at: number): void {
    const name = `worker-${++this.#started}`;
    const child = spawn(process.execPath, ["--conditions=source", PROGRAM, this.url, KEY, name], {
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let rest = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      this.traces.push(...lines.map((line) => JSON.parse(line) as Trace));
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.complaints += `${name}: ${text}`;
    });
    this.#workers[at] = { child, frozen: false };
    this.#stage.finally(() => kill(child));
  }

  async #killWorker(at: number): Promise<void> {
    const worker = this.#workers[at];
    if (worker) await kill(worker.child);
  }

  /** A worker that is frozen longer than its leases goes on with runs that are another worker's. */
  #freeze(at: number): void {
    const worker = this.#workers[at];
    if (!worker) return;
    this.thaw();
    worker.child.kill("SIGSTOP");
    worker.frozen = true;
  }

  #thaw(worker: CrashWorker): void {
    worker.child.kill("SIGCONT");
    worker.frozen = false;
  }
}

/** Ends a process that may be frozen, and waits until all that it wrote was read. */
async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
}
