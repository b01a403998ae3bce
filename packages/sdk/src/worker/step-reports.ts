import type { ReportedSteps, StepReportsStored, StepsStored } from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { type Batched, Batcher, MAX_CHARACTERS } from "../batcher.ts";
import { TidemillError } from "../error.ts";

type Stored = StepReportsStored["reports"][number];

/** Whether a report was stored. Older services give no details. */
export type StoredReport = Omit<Stored, "details"> & Partial<Pick<Stored, "details">>;

/** How reports reach the service. */
export interface StepCalls {
  /** Stores a report on one run. */
  one(runId: string, body: string, signal: AbortSignal): Promise<Pick<StepsStored, "ready">>;
  /** Stores reports on several runs. Null: the service is older, and does not have the call. */
  many(body: string, signal: AbortSignal): Promise<readonly StoredReport[] | null>;
}

interface Report {
  readonly runId: string;
  readonly reported: Omit<ReportedSteps, "steps">;
  /** The steps as JSON, each without its opening brace. */
  readonly steps: readonly string[];
  /** Gives the report up. */
  readonly signal: AbortSignal;
}

type Waiting = Batched<Report, readonly string[]>;

const MAX_CALL = { reports: LIMITS.stepReports, steps: LIMITS.stepsOfReports, characters: MAX_CHARACTERS };

const STATUS: Readonly<Record<string, number>> = { LEASE_LOST: 409, PAYLOAD_TOO_LARGE: 413 };

/** Sends the reports of executions on their steps. Reports of several runs at the same time share a call. */
export class StepReports {
  readonly #calls: StepCalls;
  readonly #batcher: Batcher<Report, readonly string[], keyof typeof MAX_CALL>;
  #takesMany = true;

  constructor(calls: StepCalls) {
    this.#calls = calls;
    this.#batcher = new Batcher({
      limits: () => (this.#takesMany ? MAX_CALL : { ...MAX_CALL, reports: 1 }),
      sizeOf: ({ steps }) => ({ reports: 1, steps: steps.length, characters: steps.reduce((sum, { length }) => sum + length, 0) }),
      send: (batch) => this.#store(batch),
    });
  }

  /**
   * Returns the keys of reported steps that wait and have their outcome already.
   *
   * @throws {TidemillError} when the service refuses the report, for example LEASE_LOST
   */
  add(runId: string, { steps = [], ...reported }: ReportedSteps, signal: AbortSignal): Promise<readonly string[]> {
    // The value that the workflow returned may change later.
    const texts = steps.map((step) => JSON.stringify(step).slice(1));
    return this.#batcher.add({ runId, reported, steps: texts, signal }, signal);
  }

  /** Never rejects. */
  async #store(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch;
    if (batch.length === 1 && first) return this.#storeOne(first);
    const reports = batch.map(({ item }) => item);
    const ended = endWithAll(reports.map(({ signal }) => signal));
    try {
      const stored = await this.#calls.many(bodyOf(reports), ended.signal);
      if (stored && stored.length === batch.length && stored.every(({ id }, at) => id === reports[at]?.runId))
        return this.#settle(batch, stored);
      if (!stored) this.#takesMany = false;
    } catch {
      // Each is sent alone, to find the report at fault.
    } finally {
      ended.release();
    }
    await Promise.all(batch.map((one) => this.#storeOne(one)));
  }

  #settle(batch: readonly Waiting[], stored: readonly StoredReport[]): void {
    for (const [at, one] of batch.entries()) {
      const { ok = false, ready = [], code = null, message = null, details } = stored[at] ?? {};
      const facts = { message: message ?? "", status: STATUS[code ?? ""] ?? 400, details: (details ?? {}) as Record<string, unknown> };
      if (ok) one.resolve(ready);
      // Repeated until the service can store it, while other reports are sent.
      else if (code === "UNAVAILABLE") void this.#storeOne(one);
      else one.reject(new TidemillError({ code: code ?? "UNEXPECTED_RESPONSE", ...facts }));
    }
  }

  async #storeOne({ item: { runId, reported, steps, signal }, resolve, reject }: Waiting): Promise<void> {
    const listed = steps.length > 0 ? `,"steps":[${steps.map((step) => `{${step}`).join(",")}]` : "";
    try {
      const { ready = [] } = await this.#calls.one(runId, `${JSON.stringify(reported).slice(0, -1)}${listed}}`, signal);
      resolve(ready);
    } catch (error) {
      reject(error);
    }
  }
}

/** A signal that is aborted when all of these are: a call is ended when nobody waits for it any more. */
function endWithAll(signals: readonly AbortSignal[]): { readonly signal: AbortSignal; release(): void } {
  const ended = new AbortController();
  const end = (): void => {
    if (signals.every(({ aborted }) => aborted)) ended.abort(signals[0]?.reason);
  };
  for (const signal of signals) signal.addEventListener("abort", end, { once: true });
  return {
    signal: ended.signal,
    release: () => {
      for (const signal of signals) signal.removeEventListener("abort", end);
    },
  };
}

/** The body of a call with several reports. */
function bodyOf(batch: readonly Report[]): string {
  const reports = batch.map(({ runId: id, reported }) => ({ id, ...reported }));
  const steps = batch.flatMap((one, at) => one.steps.map((step) => `{"report":${at},${step}`));
  return `{"reports":${JSON.stringify(reports)}${steps.length > 0 ? `,"steps":[${steps.join(",")}]` : ""}}`;
}
