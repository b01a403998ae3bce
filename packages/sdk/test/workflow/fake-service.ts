import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { ReportedStep, RunStep, SettleJob } from "@tidemill/contract";
import { journalStep } from "./memory-journal.ts";

interface FakeRun {
  readonly runId: string;
  readonly workflowId: string;
  readonly input: unknown;
  journal: RunStep[];
  token: string | null;
  settled: SettleJob[];
}

type StepOfReport = ReportedStep & { readonly report: number };
type Reply = readonly [status: number, body: unknown];

const LEASE_LOST: Reply = [409, { error: { code: "LEASE_LOST", message: "The lease is lost.", details: {} } }];

/** The part of the service that executes runs, in memory, as docs/run-protocol.md says. */
export class FakeService {
  readonly runs = new Map<string, FakeRun>();
  /** Methods and paths of the requests so far, without those that wait for something. */
  readonly registered: unknown[] = [];
  /** Runs that the next call takes. */
  pending: string[] = [];
  extended = 0;
  /** Requests that are not answered yet, until something happens. */
  #waiting: (() => void)[] = [];
  /** Called before steps are stored. What it returns is the response. */
  onStore: (run: FakeRun, steps: readonly ReportedStep[]) => Promise<Reply | undefined> = async () => undefined;
  cancelled: string[] = [];
  /** Whether it has the call for reports of several runs. */
  storesMany = true;
  /** How many reports such calls have had. */
  readonly storedTogether: number[] = [];
  readonly #server = createServer((request, response) => {
    void this.#answer(request).then(([status, body]) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  });

  static async start(): Promise<FakeService> {
    const service = new FakeService();
    await new Promise<void>((resolve) => service.#server.listen(0, "127.0.0.1", resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.wake();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  trigger(workflowId: string, input: unknown = null, journal: RunStep[] = []): FakeRun {
    const run: FakeRun = { runId: `run_${this.runs.size + 1}`, workflowId, input, journal, token: null, settled: [] };
    this.runs.set(run.runId, run);
    this.resume(run);
    return run;
  }

  /** Makes a run's next execution. */
  resume(run: FakeRun): void {
    this.pending.push(run.runId);
    this.wake();
  }

  /** The run is another worker's now, or cancelled. */
  take(run: FakeRun): void {
    run.token = null;
    this.wake();
  }

  wake(): void {
    for (const answer of this.#waiting.splice(0)) answer();
  }

  async #answer(request: IncomingMessage): Promise<Reply> {
    const { method, url = "" } = request;
    const body = (await json(request)) as Record<string, never>;
    if (method === "PUT") {
      this.registered.push([url, body]);
      return [200, { id: url.split("/").at(-1) }];
    }
    if (url === "/v1/work") return [200, await this.#work(body)];
    if (url === "/v1/work/extend") return [200, await this.#extend(body)];
    if (url === "/v1/work/steps") return this.#storeAll(body);
    const [, runId = ""] = /^\/v1\/runs\/(.+)\/steps$/.exec(url) ?? [];
    return this.#store(runId, body);
  }

  async #work({
    workflows = [],
    limit = 1,
    settle = [],
    wait = 0,
  }: {
    workflows?: string[];
    limit?: number;
    settle?: SettleJob[];
    wait?: number;
  }) {
    const settled = settle.map((outcome) => this.#settle(outcome));
    const runs = this.#claim(workflows, limit);
    if (wait === 0 || runs.length > 0) return { jobs: [], runs, hooks: [], settled, cancelled: [] };
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return { jobs: [], runs: this.#claim(workflows, limit), hooks: [], settled, cancelled: this.cancelled };
  }

  #claim(workflows: readonly string[], limit: number) {
    const mine = this.pending.filter((id) => workflows.includes(this.runs.get(id)?.workflowId ?? "")).slice(0, limit);
    this.pending = this.pending.filter((id) => !mine.includes(id));
    return mine.map((runId) => {
      const run = this.runs.get(runId) as FakeRun;
      run.token = `${runId}-${run.settled.length}`;
      const { workflowId, input, journal, token } = run;
      return { runId, workflowId, version: null, attempt: 1, attempts: 3, input, journal, lease_token: token, lease_expires_at: "" };
    });
  }

  #settle(outcome: SettleJob) {
    const run = this.runs.get(outcome.id) as FakeRun;
    if (run.token !== outcome.lease_token) return { id: outcome.id, ok: false, code: "LEASE_LOST", message: "Lost." };
    run.token = null;
    if ("steps" in outcome) this.#append(run, outcome.steps ?? []);
    run.settled.push(outcome);
    return { id: outcome.id, ok: true, code: null, message: null };
  }

  async #extend({ leases = [], wait = 0 }: { leases?: { id: string; lease_token: string }[]; wait?: number }) {
    this.extended += 1;
    const answer = () => ({
      leases: leases.map(({ id, lease_token }) => ({ id, ok: this.runs.get(id)?.token === lease_token })),
      cancelled: [],
    });
    if (wait === 0 || answer().leases.some(({ ok }) => !ok)) return answer();
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return answer();
  }

  async #storeAll({
    reports = [],
    steps = [],
  }: {
    reports?: { id: string; lease_token: string }[];
    steps?: StepOfReport[];
  }): Promise<Reply> {
    if (!this.storesMany) return [404, { error: { code: "NOT_FOUND", message: "There is no such route.", details: {} } }];
    this.storedTogether.push(reports.length);
    const stored = reports.map(async ({ id, lease_token }, at) => {
      const own = steps.flatMap(({ report, ...step }) => (report === at ? [step] : []));
      const [status, body] = await this.#store(id, { lease_token, steps: own });
      const { code = null, message = null } = (body as { error?: { code: string; message: string } }).error ?? {};
      return { id, ok: status === 200, steps: null, code, message };
    });
    return [200, { reports: await Promise.all(stored) }];
  }

  async #store(runId: string, { lease_token, steps }: { lease_token?: string; steps?: ReportedStep[] }): Promise<Reply> {
    const run = this.runs.get(runId) as FakeRun;
    const reply = await this.onStore(run, steps ?? []);
    if (reply) return reply;
    if (run.token !== lease_token) return LEASE_LOST;
    this.#append(run, steps ?? []);
    return [200, { steps: run.journal.length }];
  }

  #append(run: FakeRun, steps: readonly ReportedStep[]): void {
    for (const step of steps) if (!run.journal.some(({ key }) => key === step.key)) run.journal.push(journalStep(step));
  }
}
