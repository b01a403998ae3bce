import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Client } from "../../../server/test/harness/client.ts";
import type { Cluster } from "../../../server/test/harness/cluster.ts";
import { KEY, type NodeProcess } from "../../../server/test/harness/process.ts";
import { until } from "../../../server/test/harness/service.ts";
import type { Stage } from "../../../server/test/harness/stage.ts";
import { FaultyProxy } from "../harness/faulty-proxy.ts";
import type { Trace } from "./crash-workflows.ts";
import { LateReports } from "./late-reports.ts";

const PROGRAM = fileURLToPath(new URL("crash-worker.ts", import.meta.url));
const NODES = 2;
const WORKERS = 2;

/** What may happen while runs are in progress. */
export const FAULTS = ["kill worker", "kill workers that report", "freeze worker", "kill node", "kill postgres", "cut connection"] as const;
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
  readonly #late = new LateReports();
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
    proxy.onRequest = made.#late.onRequest;
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
        return this.#replaceWorker(at);
      case "kill workers that report":
        return this.#killReporting();
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

  /** Lets frozen workers go on, and late reports arrive. */
  thaw(): void {
    this.#late.releaseAll();
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
      for (const line of lines) this.#add(JSON.parse(line) as Trace);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.complaints += `${name}: ${text}`;
    });
    this.#workers[at] = { child, frozen: false };
    this.#stage.finally(() => kill(child));
  }

  async #replaceWorker(at: number): Promise<void> {
    const worker = this.#workers[at];
    if (worker) await kill(worker.child);
    this.#startWorker(at);
  }

  /** Kills the workers while reports of theirs are on the way. These arrive when other workers execute the same steps. */
  async #killReporting(): Promise<void> {
    this.#late.hold();
    await until(async () => this.#late.count > 0 || (await this.#active()) === 0, "a worker to report");
    for (let at = 0; at < WORKERS; at += 1) await this.#replaceWorker(at);
    this.#late.letPass();
  }

  /** Runs that are executed. */
  async #active(): Promise<number> {
    const [row] = await this.query<{ active: number }>("select count(*)::int as active from job where kind = 'run' and state = 'active'");
    return row?.active ?? 0;
  }

  #add(trace: Trace): void {
    this.traces.push(trace);
    this.#late.release(trace.run);
  }

  /** A worker that is frozen longer than its leases goes on with runs that are another worker's. */
  #freeze(at: number): void {
    const worker = this.#workers[at];
    if (!worker) return;
    for (const one of this.#workers) if (one.frozen) this.#thaw(one);
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
