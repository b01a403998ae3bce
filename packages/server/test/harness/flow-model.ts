/** A model of flow control, as simple as possible. It keeps everything in lists and searches them each time. */

export interface ModelJob {
  readonly id: string;
  readonly key: string | null;
  readonly priority: number;
  runAtMs: number;
  state: "waiting" | "delayed" | "active" | "failed" | "gone";
  /** The node that holds the job while it is active. */
  leaseId: number | null;
  /** How many nodes in a row were lost while they held it. */
  losses: number;
}

export interface Limits {
  concurrency: number | null;
  perKey: number;
  rate: { max: number; perSeconds: number } | null;
  paused: boolean;
}

const MAX_LOSSES = 3;

export class FlowModel {
  nowMs: number;
  readonly jobs = new Map<string, ModelJob>();
  limits: Limits = { concurrency: null, perKey: 1, rate: null, paused: false };
  #starts: { atMs: number; jobs: number }[] = [];

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  get limited(): boolean {
    return this.limits.concurrency !== null || this.limits.rate !== null;
  }

  in(...states: ModelJob["state"][]): ModelJob[] {
    return [...this.jobs.values()].filter(({ state }) => states.includes(state)).sort(inOrder);
  }

  add(job: Pick<ModelJob, "id" | "key" | "priority">, delayMs: number): void {
    const state = delayMs > 0 ? "delayed" : "waiting";
    this.jobs.set(job.id, { ...job, runAtMs: this.nowMs + delayMs, state, leaseId: null, losses: 0 });
  }

  /** Waiting jobs that have a slot of their key, or need none, in claim order. */
  claimable(): ModelJob[] {
    const active = this.in("active");
    const seen = new Map<string, number>();
    return this.in("waiting").filter(({ key }) => {
      if (key === null) return true;
      const before = (seen.get(key) ?? 0) + 1;
      seen.set(key, before);
      return before <= this.limits.perKey - active.filter((one) => one.key === key).length;
    });
  }

  /** The jobs that a claim would start now. */
  admitted(): ModelJob[] {
    const { concurrency, rate, paused } = this.limits;
    if (paused) return [];
    const slots = concurrency === null ? Number.POSITIVE_INFINITY : concurrency - this.in("active").length;
    const starts = rate === null ? Number.POSITIVE_INFINITY : rate.max - this.#started(rate.perSeconds);
    return this.claimable().slice(0, Math.max(0, Math.min(slots, starts)));
  }

  claim(leaseId: number, take: number): ModelJob[] {
    const claimed = this.admitted().slice(0, take);
    for (const job of claimed) Object.assign(job, { state: "active", leaseId });
    if (this.limits.rate && claimed.length > 0) {
      this.#forget(this.limits.rate.perSeconds);
      this.#starts.push({ atMs: this.nowMs, jobs: claimed.length });
    }
    return claimed;
  }

  /** Ends the hold on a job. */
  release(job: ModelJob, state: ModelJob["state"], waitMs = 0): void {
    if (state === "delayed") job.runAtMs = this.nowMs + waitMs;
    Object.assign(job, { state, leaseId: null, losses: 0 });
  }

  loseNode(leaseId: number): void {
    for (const job of this.in("active").filter((one) => one.leaseId === leaseId)) {
      job.losses += 1;
      Object.assign(job, { state: job.losses >= MAX_LOSSES ? "failed" : "waiting", leaseId: null });
    }
  }

  retry(job: ModelJob): void {
    Object.assign(job, { state: "waiting", runAtMs: this.nowMs, losses: 0 });
  }

  pass(ms: number): void {
    this.nowMs += ms;
    for (const job of this.in("delayed")) if (job.runAtMs <= this.nowMs) job.state = "waiting";
  }

  #started(perSeconds: number): number {
    return this.#starts.filter(({ atMs }) => atMs > this.nowMs - perSeconds * 1000).reduce((sum, { jobs }) => sum + jobs, 0);
  }

  /** Deletes starts that are older than the current rate's span. They do not count if the rate gets a longer span later. */
  #forget(perSeconds: number): void {
    this.#starts = this.#starts.filter(({ atMs }) => atMs > this.nowMs - perSeconds * 1000);
  }
}

/** Claim order: highest priority first, then the earliest due, then the oldest. */
const inOrder = (a: ModelJob, b: ModelJob): number =>
  b.priority - a.priority || a.runAtMs - b.runAtMs || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
