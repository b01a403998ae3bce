import { type CircuitEffect, Circuits, closeCircuit } from "#circuits";
import type { Claim } from "#jobs";
import { type Clock, type Db, type EmitEvent, type Random, type ReportChange, tolerate } from "#kernel";
import type { LaneKey } from "#lanes";
import { type AttemptResult, delayOf, judge, mayBeDue, showsLife, type Verdict } from "./judge.ts";
import type { JobKinds } from "./kinds.ts";
import { CIRCUITS } from "./report-changes.ts";
import type { Settler } from "./settle.ts";

export interface FinisherOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: EmitEvent;
  /** Gets changes of workspaces' records. */
  readonly report?: ReportChange;
  readonly kinds: JobKinds;
  readonly settler: Settler;
  readonly onDueAt: (ms: number) => void;
}

/** Finishes attempts: judges the job and the circuit of its lane, settles both, and follows up. */
export class AttemptFinisher {
  readonly #options: FinisherOptions;
  readonly #circuits = new Circuits();
  /** Jobs of these lanes may start. */
  readonly #onFree: (lanes: LaneKey[]) => void;
  /** An attempt is settled. */
  readonly #onSettled: (claim: Claim) => void;

  constructor(options: FinisherOptions, onFree: (lanes: LaneKey[]) => void, onSettled: (claim: Claim) => void) {
    this.#options = options;
    this.#onFree = onFree;
    this.#onSettled = onSettled;
  }

  started(claim: Claim): void {
    this.#circuits.attemptStarted(claim);
  }

  /**
   * Judges and settles an attempt that ended.
   *
   * @returns the kind of the verdict
   */
  finish(claim: Claim, result: AttemptResult, tookMs: number): Verdict["kind"] {
    const { random, kinds } = this.#options;
    const fraction = random.fraction();
    const circuit = this.#circuits.attemptEnded(claim, showsLife(result), fraction);
    const heldForMs = "heldForMs" in circuit ? circuit.heldForMs : null;
    const { once, sparesUnbegun } = kinds.of(claim) ?? {};
    const verdict = judge(result, claim, fraction, { once, sparesUnbegun, heldForMs });
    void this.#settle(claim, verdict, tookMs, circuit).then(() => this.#onSettled(claim));
    return verdict.kind;
  }

  /** Releases a job whose attempt never began. */
  release(claim: Claim): void {
    void this.#settle(claim, { kind: "release", waitMs: 0 }, 0, { kind: claim.probe ? "releasesProbe" : "none" });
  }

  async #settle(claim: Claim, verdict: Verdict, tookMs: number, circuit: CircuitEffect): Promise<void> {
    const { settler, clock, onDueAt } = this.#options;
    await settler.add(claim, verdict, { tookMs, circuit });
    const delayMs = delayOf(verdict);
    if (mayBeDue(verdict)) this.#onFree([claim]);
    else if (delayMs !== null) onDueAt(clock.nowMs() + delayMs);
    if (circuit.kind === "opens") this.#circuits.circuitOpened(claim);
    // The circuit is closed only now: settles are written in order, and an earlier one may have to open it first.
    if (circuit.kind === "closes") void this.#close(claim);
  }

  /** If this fails, the next probe closes the circuit. */
  #close(claim: Claim): Promise<void> {
    const { db, emit, report } = this.#options;
    return tolerate(
      async () => {
        const closed = await closeCircuit(db, claim);
        if (!closed) return;
        const { workspaceId, laneId } = claim;
        emit("circuit_closed", { workspaceId, laneId, failedProbes: closed.probes, openMs: closed.open_ms });
        report?.(workspaceId, CIRCUITS);
        this.#onFree([claim]);
      },
      (error) => emit("circuit_close_failed", { error }),
    );
  }
}
