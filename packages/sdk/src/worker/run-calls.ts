import type { ReportedStep, ReportedSteps, TakenRun } from "@tidemill/contract";
import type { RunHost, StepEvent } from "../workflow/host.ts";
import type { Invocation } from "../workflow/invoke.ts";
import { isLeaseLost } from "../workflow/lease-lost.ts";
import { storeOrOthers } from "../workflow/not-stored.ts";
import type { WorkerCalls } from "./calls.ts";
import type { Held, HeldLeases } from "./held-leases.ts";
import { ProgressSender, type ProgressToSend } from "./progress-sender.ts";

interface StepId {
  readonly key: string;
}

/**
 * The calls of one run that the worker holds. They go on at a shutdown, so that outcomes of steps in progress are stored, and end when the
 * run is lost. If the service refuses one because the lease is lost, the worker gives the run up.
 */
export class RunCalls implements Pick<RunHost, "store" | "sendEvent" | "registerSignal" | "invoke"> {
  readonly #calls: WorkerCalls;
  readonly #leases: Pick<HeldLeases, "lose">;
  readonly #runId: string;
  readonly #lease: Pick<TakenRun, "lease_token">;
  readonly #signal: AbortSignal;
  /** The calls under way that store steps. */
  readonly #stores: Set<Promise<unknown>>;
  readonly #progress = new ProgressSender((progress) => this.#whileHeld(this.#report({ progress })));

  constructor(
    calls: WorkerCalls,
    leases: Pick<HeldLeases, "lose">,
    { runId, lease_token }: Pick<TakenRun, "runId" | "lease_token">,
    { lost, stores }: Pick<Held, "lost" | "stores">,
  ) {
    this.#calls = calls;
    this.#leases = leases;
    this.#runId = runId;
    this.#lease = { lease_token };
    this.#signal = lost.signal;
    this.#stores = stores;
  }

  store(steps: readonly ReportedStep[]): Promise<readonly string[]> {
    return this.#storing(storeOrOthers(steps, (some) => this.#report({ steps: [...some], ...this.#progress.take() })));
  }

  sendEvent({ key }: StepId, event: StepEvent): Promise<unknown> {
    return this.#storing(this.#calls.sendEvent(this.#runId, { ...this.#lease, key, ...event }, this.#signal));
  }

  registerSignal({ key }: StepId, signal: string): Promise<unknown> {
    return this.#storing(this.#calls.registerSignal(this.#runId, { ...this.#lease, key, signal }, this.#signal));
  }

  invoke({ key }: StepId, invocation: Invocation): Promise<unknown> {
    return this.#storing(this.#calls.invoke(this.#runId, { ...this.#lease, key, ...invocation }, this.#signal));
  }

  /** Sends progress soon, unless newer progress comes first. */
  setProgress(progress: unknown): void {
    this.#progress.set(progress);
  }

  /** Sends no progress any more. Returns the newest, if it is not sent. */
  endProgress(): ProgressToSend {
    return this.#progress.end();
  }

  #report(reported: Omit<ReportedSteps, "lease_token">): Promise<readonly string[]> {
    return this.#calls.storeSteps(this.#runId, { ...this.#lease, ...reported }, this.#signal);
  }

  #storing<T>(call: Promise<T>): Promise<T> {
    this.#stores.add(call);
    return this.#whileHeld(call).finally(() => this.#stores.delete(call));
  }

  #whileHeld<T>(call: Promise<T>): Promise<T> {
    return call.catch((error: unknown) => {
      if (isLeaseLost(error)) this.#leases.lose(this.#runId, "lease_lost", this.#lease.lease_token);
      throw error;
    });
  }
}
