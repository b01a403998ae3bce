import { setTimeout as wait } from "node:timers/promises";
import type { AttemptEntry } from "@tidemill/contract";
import { logEntry, MOST_WEIGHT, weightOf } from "#jobs";
import { Batcher, type Db, type EmitEvent, isRefused, isTimeout } from "#kernel";
import type { CircuitEffect } from "./circuit.ts";
import type { Claim } from "./claim.ts";
import type { Verdict } from "./retry.ts";
import { completeAcrossWorkspaces, type NotCompleted, type Opening, refuseAcrossWorkspaces, type SpentProbe } from "./settle-store.ts";

interface Settlement {
  readonly claim: Claim;
  readonly verdict: Verdict;
  readonly circuit: CircuitEffect;
  readonly entry: string;
  /** It was refused before, on its own. */
  readonly again?: boolean;
}

const WRITERS = 1;
const FIRST_PAUSE_MS = 50;
const MOST_PAUSE_MS = 2_000;

const NO_EFFECT: CircuitEffect = { kind: "none" };

/**
 * Writes what became of claims, and so of circuits, many in one statement. A database that is away is waited for: an answer is not
 * forgotten. Claims of jobs with a concurrency key, which somebody may have locked, keep no others waiting.
 */
export class Settler {
  readonly #db: Db;
  readonly #emit: EmitEvent;
  readonly #plain: Batcher<Settlement, undefined>;
  readonly #ordered: Batcher<Settlement, undefined>;
  #givenUp = false;
  readonly #pending = new Set<string>();

  constructor(db: Db, emit: EmitEvent) {
    this.#db = db;
    this.#emit = emit;
    const batcher = () =>
      new Batcher<Settlement, undefined>({
        most: MOST_WEIGHT,
        writers: WRITERS,
        weigh: ({ claim, verdict }) => weightOf(claim.payload + ((verdict.kind === "complete" && verdict.result) || "")),
        write: (settlements) => this.#write(settlements),
      });
    this.#plain = batcher();
    this.#ordered = batcher();
  }

  /** Answers once it is written, or has become pointless because the claim is no longer true. */
  add(claim: Claim, verdict: Verdict, tookMs: number, circuit: CircuitEffect = NO_EFFECT): Promise<undefined> {
    this.#pending.add(claim.id);
    const batcher = claim.concurrencyKey === null ? this.#plain : this.#ordered;
    return batcher
      .add({ claim, verdict, circuit, entry: logEntry(entryOf(claim, verdict, tookMs)) })
      .finally(() => this.#pending.delete(claim.id));
  }

  /** Whether what became of a job is still to be written. */
  isSettling(id: string): boolean {
    return this.#pending.has(id);
  }

  async settled(): Promise<void> {
    await Promise.all([this.#plain.settled(), this.#ordered.settled()]);
  }

  /** Stops waiting for a database that is away: what is not written is left to whoever takes the claims back. */
  giveUp(): void {
    this.#givenUp = true;
  }

  async #write(settlements: Settlement[]): Promise<undefined[]> {
    for (let pauseMs = FIRST_PAUSE_MS; !this.#givenUp; pauseMs = Math.min(pauseMs * 2, MOST_PAUSE_MS)) {
      try {
        await this.#writeOnce(settlements);
        break;
      } catch (error) {
        if (isRefused(error) || (isTimeout(error) && settlements.length > 1)) return this.#writeApart(settlements, error);
        this.#emit("settle_retried", { error });
        await wait(pauseMs);
      }
    }
    return settlements.map(() => undefined);
  }

  /**
   * What the database refuses, or is too slow for, is written in halves, so that a bad one keeps none of its neighbours from
   * being settled. The bad one itself goes to the dead-letter queue: left alone it would stay claimed as long as this node lives.
   */
  async #writeApart(settlements: Settlement[], error: unknown): Promise<undefined[]> {
    const [first] = settlements;
    if (settlements.length > 1) {
      const half = settlements.length >> 1;
      await this.#write(settlements.slice(0, half));
      await this.#write(settlements.slice(half));
    } else if (first && !first.again) {
      // Once more: a row can be refused because its partition is being made.
      await wait(FIRST_PAUSE_MS);
      await this.#write([{ ...first, again: true }]);
    } else if (first && first.verdict !== UNSTORABLE) {
      this.#emit("settle_failed", { jobId: first.claim.id, error });
      const entry = logEntry(entryOf(first.claim, UNSTORABLE, 0));
      await this.#write([{ claim: first.claim, verdict: UNSTORABLE, circuit: NO_EFFECT, entry }]);
    }
    return settlements.map(() => undefined);
  }

  async #writeOnce(settlements: Settlement[]): Promise<void> {
    const completed = settlements.flatMap(({ claim, verdict, entry }) =>
      verdict.kind === "complete" ? [{ ...keyOf(claim), logEntry: entry, result: verdict.result }] : [],
    );
    const refused = settlements.flatMap((settlement) => (settlement.verdict.kind === "complete" ? [] : [settlement]));
    const [done, { moved, opened }] = await Promise.all([
      completed.length > 0 ? completeAcrossWorkspaces(this.#db, completed) : 0,
      refused.length > 0 ? this.#refuse(refused) : { moved: 0, opened: [] },
    ]);
    for (const lane of opened) this.#emit("circuit_opened", { ...lane });
    const lost = settlements.length - done - moved;
    if (lost > 0) this.#emit("settle_lost_race", { count: lost });
  }

  #refuse(settlements: readonly Settlement[]): ReturnType<typeof refuseAcrossWorkspaces> {
    return refuseAcrossWorkspaces(this.#db, settlements.map(refusalOf), settlements.flatMap(openingOf), settlements.flatMap(spentProbeOf));
  }
}

const UNSTORABLE: Verdict = {
  kind: "fail",
  error: { code: "NODE_LOST", message: "The outcome of the attempt could not be stored.", status: null },
};

const keyOf = ({ workspaceId, laneId, id, nodeId, attempt }: Claim) => ({ workspaceId, laneId, id, nodeId, attempt });

function refusalOf({ claim, verdict, circuit, entry }: Settlement): NotCompleted {
  const common = { ...keyOf(claim), logEntry: entry };
  const error = "error" in verdict ? verdict.error : null;
  // A job that is the only one may be the next probe, too: nobody else would find out that the endpoint is back.
  const aloneWaitMs = circuit.kind === "probeFails" ? circuit.probeInMs : null;
  const told = { ...common, aloneWaitMs, error: error && JSON.stringify(error), errorCode: error?.code ?? null };
  if (verdict.kind === "hold" || verdict.kind === "giveBack") {
    return { ...told, to: verdict.waitMs > 0 ? "delayed" : "waiting", waitMs: verdict.waitMs, spared: true };
  }
  const spared = circuit.kind === "fails" || circuit.kind === "opens" ? null : false;
  return verdict.kind === "retry"
    ? { ...told, to: "delayed", waitMs: verdict.waitMs, spared }
    : { ...told, to: "failed", waitMs: 0, spared };
}

function openingOf({ claim, verdict, circuit }: Settlement): Opening[] {
  if (circuit.kind !== "opens" || !("error" in verdict)) return [];
  const { workspaceId, laneId, revision } = claim;
  return [{ workspaceId, laneId, revision, probeInMs: circuit.probeInMs, error: JSON.stringify(verdict.error) }];
}

/** A probe that told nothing of its endpoint makes way for another at once. */
function spentProbeOf({ claim, verdict, circuit }: Settlement): SpentProbe[] {
  const { workspaceId, laneId } = claim;
  const failed = circuit.kind === "probeFails";
  if (!failed && circuit.kind !== "releasesProbe") return [];
  const error = failed && "error" in verdict ? JSON.stringify(verdict.error) : null;
  return [{ workspaceId, laneId, failed, probeInMs: failed ? circuit.probeInMs : 0, error }];
}

const OUTCOMES = { complete: "completed", retry: "failed", fail: "failed", hold: "failed", giveBack: "released" } as const;

function entryOf(claim: Claim, verdict: Verdict, tookMs: number): AttemptEntry {
  const error = "error" in verdict ? verdict.error : null;
  return {
    attempt: claim.attempt,
    started_at: claim.startedAt,
    duration_ms: Math.round(tookMs * 100) / 100,
    outcome: OUTCOMES[verdict.kind],
    status: verdict.kind === "complete" ? verdict.status : (error?.status ?? null),
    error,
    worker: null,
  };
}
