import type { LaneId } from "#lanes";

/** Failures in a row after which the circuit opens. Source: contract §4. */
const MAX_FAILURES = 20;
const FIRST_PROBE_MS = 1_000;
const MAX_PROBE_MS = 30_000;
/** Limits the part of a wait that grows with the outage: after an outage of a day, a job must not wait for another day. */
const MAX_HELD_MS = 600_000;
const JITTER = 0.2;
const MAX_LANES = 10_000;

/** The effect of an attempt on the circuit of its lane. */
export type CircuitEffect =
  | { readonly kind: "none" | "closes" | "releasesProbe" }
  /** The endpoint failed. The attempt is spared if another node has opened the circuit in the meantime. */
  | { readonly kind: "fails" }
  | { readonly kind: "opens"; readonly probeInMs: number }
  /** The circuit is open or opening: the attempt is spared, and its job waits for `heldForMs`. */
  | { readonly kind: "holds"; readonly heldForMs: number }
  | { readonly kind: "probeFails"; readonly heldForMs: number; readonly probeInMs: number };

/** The one attempt that an open circuit lets through: how many probes failed before it, and how long the circuit has been open. */
export interface Probe {
  readonly failed: number;
  readonly openMs: number;
}

/** The part of a claim that its circuit depends on. */
interface CircuitClaim {
  readonly laneId: LaneId;
  /** Revision of the lane that the claim was made under. */
  readonly revision: number;
  /** Null unless the attempt is a probe. */
  readonly probe: Probe | null;
}

interface LaneCircuit {
  /** Revision of the lane: after a change, the count of failures starts again. */
  readonly revision: number;
  phase: "closed" | "opening" | "open";
  failures: number;
}

/** The wait before the next probe after `failed` failed ones: 1 s, doubled for each, at most 30 s, plus up to a fifth of jitter. */
export const probeWaitMs = (failed: number, fraction: number): number =>
  Math.round(Math.min(FIRST_PROBE_MS * 2 ** Math.min(failed, 30), MAX_PROBE_MS) * (1 + JITTER * fraction));

/**
 * What this node knows about circuits: how many attempts of each lane failed in a row, in the order in which they ended, and which circuits
 * are open. The database decides whether a circuit is open. A node whose knowledge is outdated is wrong by one probe or a few failures.
 */
export class Circuits {
  readonly #lanes = new Map<LaneId, LaneCircuit>();

  /** An attempt starts. If it is not a probe, the circuit of its lane has closed. */
  attemptStarted(claim: CircuitClaim): void {
    if (claim.probe) this.#remember(claim, "open");
    else if (this.#lanes.size > 0 && this.#lanes.get(claim.laneId)?.phase === "open") this.#lanes.delete(claim.laneId);
  }

  /**
   * An attempt ended.
   *
   * @param alive whether the endpoint showed that it works; null when nothing was sent
   */
  attemptEnded(claim: CircuitClaim, alive: boolean | null, fraction: number): CircuitEffect {
    if (alive === null) return { kind: claim.probe ? "releasesProbe" : "none" };
    return alive ? this.#succeeded(claim) : this.#failed(claim, fraction);
  }

  /** The database has stored that the circuit is open. */
  circuitOpened({ laneId }: CircuitClaim): void {
    const circuit = this.#lanes.get(laneId);
    if (circuit?.phase === "opening") circuit.phase = "open";
  }

  #succeeded({ laneId, revision, probe }: CircuitClaim): CircuitEffect {
    const circuit = this.#lanes.get(laneId);
    if ((!circuit && !probe) || (circuit && revision < circuit.revision)) return { kind: "none" };
    this.#lanes.delete(laneId);
    return { kind: probe || circuit?.phase !== "closed" ? "closes" : "none" };
  }

  #failed(claim: CircuitClaim, fraction: number): CircuitEffect {
    if (claim.probe) {
      const probeInMs = probeWaitMs(claim.probe.failed + 1, fraction);
      // Longer than the wait for the next probe, and longer each time, so that other jobs get their turn as the probe.
      return { kind: "probeFails", probeInMs, heldForMs: probeInMs + Math.min(claim.probe.openMs, MAX_HELD_MS) };
    }
    const known = this.#lanes.get(claim.laneId);
    if (known && claim.revision < known.revision) return { kind: "fails" };
    const circuit = known?.revision === claim.revision ? known : this.#remember(claim, "closed");
    if (circuit.phase !== "closed") return { kind: "holds", heldForMs: 0 };
    circuit.failures += 1;
    if (circuit.failures < MAX_FAILURES) return { kind: "fails" };
    circuit.phase = "opening";
    return { kind: "opens", probeInMs: probeWaitMs(0, fraction) };
  }

  #remember({ laneId, revision }: CircuitClaim, phase: LaneCircuit["phase"]): LaneCircuit {
    const circuit: LaneCircuit = { revision, phase, failures: 0 };
    const [oldest] = this.#lanes.keys();
    if (this.#lanes.size >= MAX_LANES && oldest !== undefined) this.#lanes.delete(oldest);
    this.#lanes.set(laneId, circuit);
    return circuit;
  }
}
