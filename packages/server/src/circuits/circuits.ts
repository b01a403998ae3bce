import type { LaneId } from "#lanes";

/** Failures in a row after which the circuit opens. Source: contract §4. */
const MAX_FAILURES = 20;
const FIRST_PROBE_MS = 1_000;
const MAX_PROBE_MS = 30_000;
/** However long it has been open: an outage of a day shall not keep a job waiting for another. */
const MAX_HELD_MS = 600_000;
const JITTER = 0.2;
const MAX_LANES = 10_000;

/** What an attempt's end does to the circuit of its lane. */
export type CircuitEffect =
  | { readonly kind: "none" | "closes" | "releasesProbe" }
  /** The endpoint did not answer: the attempt does not count if the circuit is open by now, because another node opened it. */
  | { readonly kind: "fails" }
  | { readonly kind: "opens"; readonly probeInMs: number }
  /** It is open, or is being opened: the attempt does not count, and its job waits for that long. */
  | { readonly kind: "holds"; readonly heldForMs: number }
  | { readonly kind: "probeFails"; readonly heldForMs: number; readonly probeInMs: number };

/** The one attempt that an open circuit lets through: how many such have failed before, and for how long it has been open. */
export interface Probe {
  readonly failed: number;
  readonly openMs: number;
}

/** What a circuit goes by of a claim. */
interface Attempted {
  readonly laneId: LaneId;
  /** Revision of the lane that the claim was made under. */
  readonly revision: number;
  /** Null unless the attempt is a probe. */
  readonly probe: Probe | null;
}

interface Seen {
  /** Of the queue's configuration: a changed one begins anew. */
  readonly revision: number;
  phase: "closed" | "opening" | "open";
  failures: number;
}

/** The wait before the next probe when `failed` have failed: 1 s, doubled for each, at most 30 s, and up to a fifth of jitter. */
export const probeWaitMs = (failed: number, fraction: number): number =>
  Math.round(Math.min(FIRST_PROBE_MS * 2 ** Math.min(failed, 30), MAX_PROBE_MS) * (1 + JITTER * fraction));

/**
 * What this node knows of circuits: the failures in a row of each lane that has any, in the order in which attempts land, and
 * which it knows to be open. Whether one is open, the database decides; a node that knows less, or something old, errs by a
 * probe or by a few failures.
 */
export class Circuits {
  readonly #lanes = new Map<LaneId, Seen>();

  /** An attempt starts. One that is no probe tells that a circuit has closed that was open. */
  started(claim: Attempted): void {
    if (claim.probe) this.#see(claim, "open");
    else if (this.#lanes.size > 0 && this.#lanes.get(claim.laneId)?.phase === "open") this.#lanes.delete(claim.laneId);
  }

  /** @param alive whether the endpoint showed that it works; null when nothing was sent */
  ended(claim: Attempted, alive: boolean | null, fraction: number): CircuitEffect {
    if (alive === null) return { kind: claim.probe ? "releasesProbe" : "none" };
    return alive ? this.#succeeded(claim) : this.#failed(claim, fraction);
  }

  /** The database has it that the circuit is open. */
  opened({ laneId }: Attempted): void {
    const seen = this.#lanes.get(laneId);
    if (seen?.phase === "opening") seen.phase = "open";
  }

  #succeeded({ laneId, revision, probe }: Attempted): CircuitEffect {
    const seen = this.#lanes.get(laneId);
    if ((!seen && !probe) || (seen && revision < seen.revision)) return { kind: "none" };
    this.#lanes.delete(laneId);
    return { kind: probe || seen?.phase !== "closed" ? "closes" : "none" };
  }

  #failed(claim: Attempted, fraction: number): CircuitEffect {
    if (claim.probe) {
      const probeInMs = probeWaitMs(claim.probe.failed + 1, fraction);
      // Longer than the next probe takes to come, and for longer each time, so that bad jobs do not keep the good ones from being tried.
      return { kind: "probeFails", probeInMs, heldForMs: probeInMs + Math.min(claim.probe.openMs, MAX_HELD_MS) };
    }
    const known = this.#lanes.get(claim.laneId);
    if (known && claim.revision < known.revision) return { kind: "fails" };
    const seen = known?.revision === claim.revision ? known : this.#see(claim, "closed");
    if (seen.phase !== "closed") return { kind: "holds", heldForMs: 0 };
    seen.failures += 1;
    if (seen.failures < MAX_FAILURES) return { kind: "fails" };
    seen.phase = "opening";
    return { kind: "opens", probeInMs: probeWaitMs(0, fraction) };
  }

  #see({ laneId, revision }: Attempted, phase: Seen["phase"]): Seen {
    const seen: Seen = { revision, phase, failures: 0 };
    const [oldest] = this.#lanes.keys();
    if (this.#lanes.size >= MAX_LANES && oldest !== undefined) this.#lanes.delete(oldest);
    this.#lanes.set(laneId, seen);
    return seen;
  }
}
