import type { ReportedSteps, StepReportsStored, StepsStored } from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { type Batched, Batcher, MAX_CHARACTERS } from "../batcher.ts";
import { itemError } from "../item-error.ts";
import { wait } from "../wait.ts";
import { type Release, Semaphore } from "./semaphore.ts";

type Stored = StepReportsStored["reports"][number];

/** Whether a report was stored. Older services give no details. */
export type StoredReport = Omit<Stored, "details"> & Partial<Pick<Stored, "details">>;

/** How a call is tried until the service has responded. */
export interface Tries {
  /** Ends the call. */
  readonly signal: AbortSignal;
  /** How often its reports have failed in earlier calls. */
  readonly failed: number;
  /** Waits for the next try, at least as long as this. If it rejects, the call ends. */
  readonly beforeNext: (pauseMs: number) => Promise<void>;
}

/** How reports reach the service. */
export interface StepCalls {
  /** Stores a report on one run. */
  one(runId: string, body: string, tries: Tries): Promise<Pick<StepsStored, "ready">>;
  /** Stores reports on several runs. Null: the service is older, and does not have the call. */
  many(body: string, tries: Tries): Promise<readonly StoredReport[] | null>;
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

/** How many calls at a time repeat reports that could not be stored at the moment. */
const MAX_REPEATS = 4;

/** Ends a call whose reports are sent again after a pause. */
class Postponed extends Error {
  readonly pauseMs: number;

  constructor(pauseMs: number) {
    super("The reports could not be stored at the moment.");
    this.pauseMs = pauseMs;
  }
}

/**
 * Sends the reports of executions on their steps. Reports of several runs at the same time share a call.
 *
 * A report that cannot be stored at the moment holds up no other: only its first try takes a place in the batcher. Then it is repeated beside
 * them, by few calls at a time, in turn, each of which keeps its permit for the pause after its failure. So while the whole service is away,
 * few calls of a worker reach it, no matter how many reports wait. When it is back, the next of them succeed, and so the others follow
 * without a pause. A call with several reports is repeated in halves: one report at fault does not keep the others from being stored.
 */
export class StepReports {
  readonly #calls: StepCalls;
  readonly #batcher: Batcher<Report, readonly string[], keyof typeof MAX_CALL>;
  readonly #repeats = new Semaphore(MAX_REPEATS);
  #takesMany = true;

  constructor(calls: StepCalls) {
    this.#calls = calls;
    this.#batcher = new Batcher({
      limits: () => (this.#takesMany ? MAX_CALL : { ...MAX_CALL, reports: 1 }),
      sizeOf: ({ steps }) => ({ reports: 1, steps: steps.length, characters: steps.reduce((sum, { length }) => sum + length, 0) }),
      send: (batch) => new Promise((resolve) => void this.#store(batch, 0, () => resolve())),
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

  /**
   * Never rejects.
   *
   * @param failed how often the reports have failed
   * @param release called when each of them is settled or has failed once more
   */
  async #store(batch: readonly Waiting[], failed: number, release: Release): Promise<void> {
    const [first] = batch;
    if (batch.length === 1 && first) return this.#storeOne(first, failed, release);
    const reports = batch.map(({ item }) => item);
    const ended = endWithAll(reports);
    const beforeNext = async (pauseMs: number): Promise<never> => {
      throw new Postponed(pauseMs);
    };
    try {
      const stored = await this.#calls.many(bodyOf(reports), { signal: ended.signal, failed, beforeNext });
      if (stored && stored.length === batch.length && stored.every(({ id }, at) => id === reports[at]?.runId)) {
        this.#settle(batch, stored, failed);
        return release();
      }
      if (!stored) this.#takesMany = false;
    } catch (error) {
      if (error instanceof Postponed) {
        release(error.pauseMs);
        const half = Math.ceil(batch.length / 2);
        for (const some of [batch.slice(0, half), batch.slice(half)]) void this.#repeat(some, failed + 1, error.pauseMs);
        return;
      }
      // Each is sent alone, to find the report at fault.
    } finally {
      ended.release();
    }
    await Promise.all(batch.map((one) => new Promise<void>((resolve) => void this.#storeOne(one, failed, () => resolve()))));
    release();
  }

  #settle(batch: readonly Waiting[], stored: readonly StoredReport[], failed: number): void {
    for (const [at, one] of batch.entries()) {
      const report = stored[at];
      if (report?.ok) one.resolve(report.ready ?? []);
      else if (report?.code === "UNAVAILABLE") void this.#repeat([one], failed, 0);
      else one.reject(itemError(report));
    }
  }

  /** Stores reports that have failed, when it is their turn. */
  async #repeat(batch: readonly Waiting[], failed: number, pauseMs: number): Promise<void> {
    const ended = endWithAll(batch.map(({ item }) => item));
    try {
      await wait(pauseMs, ended.signal);
      await this.#store(batch, failed, await this.#repeats.acquire(ended.signal));
    } catch {
      // Nobody waits for them any more.
    } finally {
      ended.release();
    }
  }

  async #storeOne({ item, resolve, reject }: Waiting, failed: number, releaseFirst: Release): Promise<void> {
    const { runId, reported, steps, signal } = item;
    const listed = steps.length > 0 ? `,"steps":[${steps.map((step) => `{${step}`).join(",")}]` : "";
    let release = releaseFirst;
    const beforeNext = async (pauseMs: number): Promise<void> => {
      release(pauseMs);
      await wait(pauseMs, signal);
      release = await this.#repeats.acquire(signal);
    };
    try {
      const body = `${JSON.stringify(reported).slice(0, -1)}${listed}}`;
      const { ready = [] } = await this.#calls.one(runId, body, { signal, failed, beforeNext });
      resolve(ready);
    } catch (error) {
      reject(error);
    } finally {
      release();
    }
  }
}

/** A signal that is aborted when all of these are: a call is ended when nobody waits for it any more. */
function endWithAll(reports: readonly Report[]): { readonly signal: AbortSignal; release(): void } {
  const signals = reports.map(({ signal }) => signal);
  const ended = new AbortController();
  const end = (): void => {
    if (signals.every(({ aborted }) => aborted)) ended.abort(signals[0]?.reason);
  };
  end();
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
