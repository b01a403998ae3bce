import type { ReportedSteps, StepReportsStored } from "@tidemill/contract";
import { TidemillError } from "../error.ts";

type Stored = StepReportsStored["reports"][number];

/** Whether a report was stored. Older services give no details. */
export type StoredReport = Omit<Stored, "details"> & Partial<Pick<Stored, "details">>;

/** How reports reach the service. */
export interface StepCalls {
  /** Stores a report on one run. */
  one(runId: string, body: string, signal: AbortSignal): Promise<unknown>;
  /** Stores reports on several runs. Null: the service is older, and does not have the call. */
  many(body: string, signal: AbortSignal): Promise<readonly StoredReport[] | null>;
}

interface Pending {
  readonly runId: string;
  readonly reported: ReportedSteps;
  /** The steps as JSON, each without its opening brace. */
  readonly steps: readonly string[];
  readonly characters: number;
  readonly signal: AbortSignal;
  resolve(): void;
  reject(error: unknown): void;
}

/** As many as the service takes in a call. */
const MAX_REPORTS = 100;
const MAX_STEPS = 1_000;
/** A character takes at most 3 bytes, and a call at most 16 MiB. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
/**
 * The largest number of calls at the same time. While that many are under way, reports wait for the first of them to end, and are then sent
 * together.
 */
const MAX_IN_FLIGHT = 2;

const STATUS: Readonly<Record<string, number>> = { LEASE_LOST: 409, PAYLOAD_TOO_LARGE: 413 };

/** Sends the reports of executions on their steps. Reports of several runs at the same time share a call. */
export class StepReports {
  readonly #calls: StepCalls;
  #waiting: Pending[] = [];
  #inFlight = 0;
  #flushes = false;
  #takesMany = true;

  constructor(calls: StepCalls) {
    this.#calls = calls;
  }

  /** @throws {TidemillError} when the service refuses the report, for example LEASE_LOST */
  add(runId: string, reported: ReportedSteps, signal: AbortSignal): Promise<void> {
    // The value that the workflow returned may change later.
    const steps = (reported.steps ?? []).map((step) => JSON.stringify(step).slice(1));
    const characters = steps.reduce((sum, { length }) => sum + length, 0);
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const withdraw = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== pending);
        reject(signal.reason);
      };
      // A run has one signal, and may have thousands of steps.
      const end = (): void => signal.removeEventListener("abort", withdraw);
      const pending: Pending = {
        runId,
        reported,
        steps,
        characters,
        signal,
        resolve: () => {
          end();
          resolve();
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      signal.addEventListener("abort", withdraw, { once: true });
      this.#waiting.push(pending);
      this.#flushSoon();
    });
  }

  /** Reports of the same turn of the event loop are sent together. */
  #flushSoon(): void {
    if (this.#flushes || this.#inFlight >= MAX_IN_FLIGHT) return;
    this.#flushes = true;
    queueMicrotask(() => {
      this.#flushes = false;
      while (this.#waiting.length > 0 && this.#inFlight < MAX_IN_FLIGHT) void this.#send(this.#take());
    });
  }

  #take(): readonly Pending[] {
    let [steps, characters] = [0, 0];
    const end = this.#waiting.findIndex((one, at) => {
      steps += one.steps.length;
      characters += one.characters;
      return at > 0 && (!this.#takesMany || at === MAX_REPORTS || steps > MAX_STEPS || characters > MAX_CHARACTERS);
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  async #send(batch: readonly Pending[]): Promise<void> {
    this.#inFlight += 1;
    await this.#store(batch);
    this.#inFlight -= 1;
    if (this.#waiting.length > 0) this.#flushSoon();
  }

  /** Never rejects. */
  async #store(batch: readonly Pending[]): Promise<void> {
    const [first] = batch;
    if (batch.length === 1 && first) return this.#storeOne(first);
    // The call is ended when nobody waits for it any more.
    const ended = new AbortController();
    const end = () => batch.every(({ signal }) => signal.aborted) && ended.abort(first?.signal.reason);
    for (const { signal } of batch) signal.addEventListener("abort", end, { once: true });
    try {
      const stored = await this.#calls.many(bodyOf(batch), ended.signal);
      if (stored && stored.length === batch.length && stored.every(({ id }, at) => id === batch[at]?.runId))
        return this.#settle(batch, stored);
      if (!stored) this.#takesMany = false;
    } catch {
      // Each is sent alone, to find the report at fault.
    } finally {
      for (const { signal } of batch) signal.removeEventListener("abort", end);
    }
    await Promise.all(batch.map((one) => this.#storeOne(one)));
  }

  #settle(batch: readonly Pending[], stored: readonly StoredReport[]): void {
    for (const [at, one] of batch.entries()) {
      const { ok = false, code = null, message = null, details } = stored[at] ?? {};
      const facts = { message: message ?? "", status: STATUS[code ?? ""] ?? 400, details: (details ?? {}) as Record<string, unknown> };
      if (ok) one.resolve();
      // Repeated until the service can store it, while other reports are sent.
      else if (code === "UNAVAILABLE") void this.#storeOne(one);
      else one.reject(new TidemillError({ code: code ?? "UNEXPECTED_RESPONSE", ...facts }));
    }
  }

  async #storeOne({ runId, reported: { steps: _, ...reported }, steps, signal, resolve, reject }: Pending): Promise<void> {
    const listed = steps.length > 0 ? `,"steps":[${steps.map((step) => `{${step}`).join(",")}]` : "";
    try {
      await this.#calls.one(runId, `${JSON.stringify(reported).slice(0, -1)}${listed}}`, signal);
      resolve();
    } catch (error) {
      reject(error);
    }
  }
}

/** The body of a call with several reports. */
function bodyOf(batch: readonly Pending[]): string {
  const reports = batch.map(({ runId: id, reported: { steps: _, ...reported } }) => ({ id, ...reported }));
  const steps = batch.flatMap((one, at) => one.steps.map((step) => `{"report":${at},${step}`));
  return `{"reports":${JSON.stringify(reports)}${steps.length > 0 ? `,"steps":[${steps.join(",")}]` : ""}}`;
}
