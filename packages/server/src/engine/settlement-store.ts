import { findOpenAcrossWorkspaces } from "#circuits";
import {
  completeAcrossWorkspaces,
  discardAcrossWorkspaces,
  findLogsAcrossWorkspaces,
  lockJobsAcrossWorkspaces,
  settleNotCompletedAcrossWorkspaces,
} from "#jobs";
import type { Db, JobId, Transactional } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import type { Verdict } from "./judge.ts";
import type { EnqueuedLane, JobKind, JobKinds } from "./kinds.ts";
import { completionOf, keyOf, notCompletedOf, openingOf, type Settlement, spentProbeOf } from "./settlement.ts";

/** The result of a write: how many claims were still valid, their jobs if they are reported, which circuits opened, and which lanes have new jobs. */
export interface Written {
  readonly moved: number;
  readonly ids: readonly JobId[] | null;
  readonly opened: readonly LaneKey[];
  readonly enqueued?: readonly EnqueuedLane[];
}

const NOTHING_MOVED: Written = { moved: 0, ids: null, opened: [] };

/** Writes settlements, many with each statement. */
export class SettlementStore {
  readonly #db: Transactional;
  readonly #kinds: JobKinds;

  constructor(db: Transactional, kinds: JobKinds) {
    this.#db = db;
    this.#kinds = kinds;
  }

  /** Writes outcomes that change only their jobs, and circuits. */
  async writeRecords(settlements: readonly Settlement[]): Promise<Written> {
    const completed = settlements.flatMap(completionOf);
    const notCompleted = settlements.filter(({ verdict }) => verdict.kind !== "complete");
    const withIds = settlements.some(({ isReported, mayBeStored }) => isReported || mayBeStored);
    const [done, others] = await Promise.all([
      completed.length > 0 ? completeAcrossWorkspaces(this.#db, completed, withIds) : NOTHING_MOVED,
      writeNotCompleted(this.#db, notCompleted, [], withIds),
    ]);
    const ids = withIds ? [...(done.ids ?? []), ...(others.ids ?? [])] : null;
    return { moved: done.moved + others.moved, ids, opened: others.opened };
  }

  /**
   * Decides whether attempts that failed count. If another node has opened the circuit, the attempt is spared, and what its kind writes depends
   * on that. If the circuit is closed, the attempt counts, even if the circuit opens before the write.
   */
  async #decideFailures(tx: Db, settlements: readonly Settlement[]): Promise<readonly Settlement[]> {
    const isFailure = ({ verdict, circuit }: Settlement) =>
      (circuit.kind === "fails" || circuit.kind === "opens") && (verdict.kind === "retry" || verdict.kind === "fail");
    const failing = settlements.filter(isFailure);
    if (failing.length === 0) return settlements;
    const repeatable = failing.filter(({ claim }) => !this.#kinds.of(claim)?.once);
    const lanes = new Map(repeatable.map(({ claim: { workspaceId, laneId } }) => [laneId, { workspaceId, laneId }]));
    const open = lanes.size > 0 ? await findOpenAcrossWorkspaces(tx, [...lanes.values()]) : new Set<LaneId>();
    const held = new Set(repeatable.filter(({ claim }) => open.has(claim.laneId)));
    return settlements.map((one): Settlement => {
      if (held.has(one)) return { ...one, verdict: { ...one.verdict, kind: "defer", waitMs: 0 } as Verdict };
      return isFailure(one) ? { ...one, usesAttempt: true } : one;
    });
  }

  /** Writes outcomes with what their kinds write with them, in one transaction. */
  writeWithEffects(settlements: readonly Settlement[]): Promise<Written> {
    return this.#db.transaction((tx) => this.#writeWithEffects(tx, settlements));
  }

  /** Writes outcomes of a kind that one statement may settle. Returns which it has settled. */
  async writeInOneStatement(kind: JobKind, settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    return (await kind.inOneStatement?.settle(this.#db, settlements)) ?? [];
  }

  /** Writes outcomes that are not `complete`, without what their kinds write with them. */
  writeBare(settlements: readonly Settlement[]): Promise<Written> {
    return writeNotCompleted(this.#db, settlements);
  }

  async #writeWithEffects(tx: Db, all: readonly Settlement[]): Promise<Written> {
    const settlements = await this.#decideFailures(tx, all);
    const ends = ({ verdict }: Settlement) => verdict.kind === "complete" || verdict.kind === "fail";
    const discarded = settlements.filter((one) => ends(one) && !one.recorded);
    const completed = settlements.filter((one) => one.verdict.kind === "complete" && one.recorded);
    const notCompleted = settlements.filter((one) => !discarded.includes(one) && !completed.includes(one));
    const related = settlements.flatMap(({ claim }) => this.#kinds.of(claim)?.related?.(claim) ?? []);
    const locked = [...settlements.map(keyOf), ...related];
    // A single job needs no lock order.
    if (locked.length > 1) await lockJobsAcrossWorkspaces(tx, locked);
    const gone = discarded.length > 0 ? await discardAcrossWorkspaces(tx, discarded.map(keyOf)) : NOTHING_MOVED;
    const done = completed.length > 0 ? await completeAcrossWorkspaces(tx, completed.flatMap(completionOf), true) : NOTHING_MOVED;
    const others = await writeNotCompleted(tx, notCompleted, discarded, true);
    const moved = new Set<JobId>([gone, done, others].flatMap(({ ids }) => ids ?? []));
    const enqueued = new Map<LaneId, EnqueuedLane>();
    for (const kind of this.#kinds) {
      const outcomes = settlements.filter(({ claim }) => claim.kind === kind.name && moved.has(claim.id));
      if (outcomes.length > 0)
        await kind.settled?.(tx, outcomes, ({ workspaceId, laneId, served }) =>
          enqueued.set(laneId, { workspaceId, laneId, ...(served && { served }) }),
        );
    }
    return { moved: moved.size, ids: [...moved], opened: others.opened, enqueued: [...enqueued.values()] };
  }

  /** Which of these an earlier try has stored: the entries of their attempts are in the logs of their jobs, or their kinds find them. */
  async findStored(settlements: readonly Settlement[]): Promise<Settlement[]> {
    if (settlements.length === 0) return [];
    const found = await findLogsAcrossWorkspaces(this.#db, settlements.map(keyOf));
    const logs = new Map(found.map(({ id, log }) => [id, log]));
    const isLogged = ({ claim, entry }: Settlement) => logs.get(claim.id)?.includes(entry) ?? false;
    const stored = settlements.filter(isLogged);
    for (const kind of this.#kinds) {
      const own = settlements.filter((one) => one.claim.kind === kind.name && !isLogged(one));
      const found = own.length > 0 ? await kind.findStored?.(this.#db, own) : [];
      stored.push(...own.filter((_, index) => found?.[index]));
    }
    return stored;
  }
}

/** Writes outcomes of jobs that did not complete, and the effects on circuits of these and of `discarded` jobs. */
async function writeNotCompleted(
  db: Db,
  settlements: readonly Settlement[],
  discarded: readonly Settlement[] = [],
  withIds = false,
): Promise<Written> {
  const all = [...settlements, ...discarded];
  const [openings, probes] = [all.flatMap(openingOf), all.flatMap(spentProbeOf)];
  if (settlements.length + openings.length + probes.length === 0) return NOTHING_MOVED;
  return settleNotCompletedAcrossWorkspaces(db, settlements.map(notCompletedOf), openings, probes, withIds);
}
