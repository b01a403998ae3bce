import { setTimeout as wait } from "node:timers/promises";
import type { AttemptEntry } from "@tidemill/contract";
import { type CircuitEffect, findOpenAcrossWorkspaces, type Opening, type SpentProbe } from "#circuits";
import {
  type Claim,
  completeAcrossWorkspaces,
  discardAcrossWorkspaces,
  findLogsAcrossWorkspaces,
  lockJobsAcrossWorkspaces,
  logEntry,
  MAX_WEIGHT,
  type NotCompleted,
  settleNotCompletedAcrossWorkspaces,
  weightOf,
} from "#jobs";
import {
  Batcher,
  type Db,
  type EmitEvent,
  isRefused,
  isTimeout,
  type JobId,
  type LockWaits,
  type ReportChange,
  type Transactional,
  tolerate,
} from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import type { Verdict } from "./judge.ts";
import type { EnqueuedLane, JobKinds } from "./kinds.ts";
import { CIRCUITS, recordsOf } from "./report-changes.ts";

/** More about an attempt that ended. */
export interface AttemptFacts {
  readonly tookMs: number;
  readonly circuit?: CircuitEffect;
  /** The worker that held the claim; null or absent for a node. */
  readonly worker?: string | null;
}

/** An attempt that ended, and what happens to its job. */
export interface Ending {
  readonly claim: Claim;
  readonly verdict: Verdict;
  readonly facts: AttemptFacts;
}

interface Settlement {
  /** The name of its claim. */
  readonly name: string;
  readonly claim: Claim;
  readonly verdict: Verdict;
  readonly circuit: CircuitEffect;
  readonly entry: string;
  /** Whether the caller needs to know if the claim was still valid. */
  readonly isReported: boolean;
  /** Whether attempts of its kind are counted. */
  readonly recorded: boolean;
  /** The database has refused this settlement before, when it was written alone. */
  readonly again?: boolean;
  /** Whether the failed attempt counts, whatever the state of the circuit is when it is written. */
  readonly usesAttempt?: boolean;
  /** Whether the settlement is written without what its kind adds. */
  readonly isBare?: boolean;
  /** An earlier try failed, but may still have stored it. */
  readonly mayBeStored?: boolean;
}

/** What one statement did with a settlement. Unknown: it failed, perhaps after its commit. */
type SingleStatementResult = "settled" | "left" | "unknown";

/** A settlement that is written alone, and how. */
interface Single {
  readonly settlement: Settlement;
  readonly writer: SettlementWriter;
}

/** Writes settlements of a group. */
interface SettlementWriter {
  readonly write: Write;
  /** Adds a settlement to be written with others again. Absent: it is written alone. */
  readonly add?: (settlement: Settlement) => Promise<boolean>;
}

/** Writes settlements. Returns which of their claims were valid. */
type Adder = Pick<Batcher<Settlement, boolean>, "addAll">;

const WRITERS = 1;
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;

const NO_EFFECT: CircuitEffect = { kind: "none" };

/**
 * Writes the outcomes of claims and their effects on circuits, many in one statement. While the database is unavailable it waits, so that
 * no outcome is lost. Each of these groups has a batcher of its own, so that it does not delay the others:
 *
 * - jobs with a concurrency key, which another transaction may have locked;
 * - jobs of kinds whose outcomes change more than the job, which need a transaction;
 * - of these, the jobs whose outcomes lock other jobs;
 * - outcomes that their kind settles with one statement;
 * - lanes in which a settlement timed out: another transaction may have locked a row for long, so they are written one at a time;
 * - settlements that timed out even alone.
 */
export class Settler {
  readonly #db: Transactional;
  readonly #kinds: JobKinds;
  readonly #emit: EmitEvent;
  readonly #lockWaits: LockWaits;
  readonly #onEnqueued: (lanes: readonly EnqueuedLane[]) => void;
  readonly #plain: Batcher<Settlement, boolean>;
  readonly #keyed: Batcher<Settlement, boolean>;
  readonly #withEffects: Batcher<Settlement, boolean>;
  readonly #lockingOthers: Batcher<Settlement, boolean>;
  readonly #oneStatement: Batcher<Settlement, SingleStatementResult>;
  readonly #singles: Batcher<Single, boolean>;
  readonly #blocked: Batcher<Single, boolean>;
  /** Lanes in which a settlement timed out. */
  readonly #slowLanes = new Set<LaneId>();
  /** How many settlements of a lane have timed out alone, if any: a row of each may be locked. */
  readonly #blockedIn = new Map<LaneId, number>();
  /** Settlements that are written alone, by the names of their claims. */
  readonly #unwritten = new Map<string, Promise<boolean>>();
  /** A transaction settles what one statement does not. */
  readonly #oneStatementFirst: Adder = { addAll: (settlements) => this.#addForOneStatement(settlements) };
  readonly #report: ReportChange;
  #givenUp = false;
  /** Writes of outcomes that are not finished yet, by the names of their claims. */
  readonly #pending = new Map<string, Promise<unknown>>();

  /**
   * @param onEnqueued called after the commit with the lanes in which kinds have enqueued jobs
   * @param report gets changes of workspaces' records
   */
  constructor(
    db: Transactional,
    kinds: JobKinds,
    emit: EmitEvent,
    lockWaits: LockWaits,
    onEnqueued: (lanes: readonly EnqueuedLane[]) => void = () => {},
    report: ReportChange = () => {},
  ) {
    this.#report = report;
    this.#lockWaits = lockWaits;
    this.#onEnqueued = onEnqueued;
    this.#db = db;
    this.#kinds = kinds;
    this.#emit = emit;
    const batcher = <Done>(write: (settlements: Settlement[]) => Promise<(Done | Promise<Done>)[]>): Batcher<Settlement, Done> =>
      new Batcher<Settlement, Done>({
        maxWeight: MAX_WEIGHT,
        writers: WRITERS,
        weigh: ({ claim, verdict }) => weightOf({ length: claim.payload.length + writtenBy(verdict) }),
        workspaceOf: ({ claim }) => claim.workspaceId,
        write,
      });
    const lasting = (write: Write): Batcher<Settlement, boolean> => {
      const together: Batcher<Settlement, boolean> = batcher((settlements) =>
        this.#write(settlements, { write, add: (one) => together.add(one) }).finally(() => this.#forgetPending(settlements)),
      );
      return together;
    };
    const withEffects = (settlements: readonly Settlement[]) => this.#db.transaction((tx) => this.#writeWithEffects(tx, settlements));
    this.#plain = lasting((settlements) => this.#writeRecords(settlements));
    this.#keyed = lasting((settlements) => this.#writeRecords(settlements));
    this.#withEffects = lasting(withEffects);
    this.#lockingOthers = lasting(withEffects);
    this.#oneStatement = batcher<SingleStatementResult>((settlements) => this.#writeInOneStatement(settlements));
    const alone = (write: (single: Single) => Promise<Valid[]>) =>
      new Batcher<Single, boolean>({
        maxWeight: 1,
        writers: WRITERS,
        workspaceOf: ({ settlement }) => settlement.claim.workspaceId,
        write: async (singles) => (await Promise.all(singles.map(write))).flat(),
      });
    this.#singles = alone((single) => this.#writeSingle(single));
    this.#blocked = alone((single) => this.#tryBlocked(single));
  }

  /**
   * Resolves when the outcome is written, or when the claim turns out to be no longer valid. For a worker's claim it resolves to whether
   * the claim was valid. Only the first outcome of a claim counts: later ones are not written, and resolve to false when the first is done.
   */
  async add(claim: Claim, verdict: Verdict, facts: AttemptFacts): Promise<boolean> {
    const [valid = false] = await this.addAll([{ claim, verdict, facts }]);
    return valid;
  }

  /** The same for several outcomes, which are written together where possible. */
  async addAll(endings: readonly Ending[]): Promise<boolean[]> {
    const valid = endings.map(() => false);
    const written = Promise.withResolvers<void>();
    const groups = new Map<Adder, { readonly at: number[]; readonly settlements: Settlement[] }>();
    const earlier = new Set<Promise<unknown>>();
    for (const [index, ending] of endings.entries()) {
      const name = nameOf(ending.claim);
      const first = this.#pending.get(name);
      if (first) {
        if (first !== written.promise) earlier.add(first);
        continue;
      }
      this.#pending.set(name, written.promise);
      const adder = this.#adderOf(ending);
      const group = groups.get(adder) ?? { at: [], settlements: [] };
      groups.set(adder, group);
      group.at.push(index);
      group.settlements.push(this.#settlementOf(name, ending));
    }
    const writing = [...groups].map(async ([adder, { at, settlements }]) => {
      const done = await adder.addAll(settlements);
      for (const [place, index] of at.entries()) valid[index] = done[place] ?? false;
    });
    await Promise.all(writing).finally(written.resolve);
    if (earlier.size > 0) await Promise.all(earlier);
    return valid;
  }

  #settlementOf(name: string, { claim, verdict, facts: { tookMs, circuit = NO_EFFECT, worker = null } }: Ending): Settlement {
    const entry = logEntry(entryOf(claim, verdict, tookMs, worker));
    const recorded = this.#kinds.of(claim)?.recorded ?? true;
    return { name, claim, verdict, circuit, entry, isReported: worker !== null, recorded };
  }

  async #addForOneStatement(settlements: readonly Settlement[]): Promise<boolean[]> {
    const done = await this.#oneStatement.addAll(settlements);
    const others = settlements.flatMap((one, index): Settlement[] => {
      if (done[index] === "settled") return [];
      return [done[index] === "unknown" ? { ...one, mayBeStored: true } : one];
    });
    const valid = others.length > 0 ? await this.#withEffects.addAll(others) : [];
    return done.map((one) => one === "settled" || (valid.shift() ?? false));
  }

  #forgetPending(settlements: readonly Settlement[]): void {
    for (const { name } of settlements) if (!this.#unwritten.has(name)) this.#pending.delete(name);
  }

  #adderOf({ claim, verdict }: Ending): Adder {
    const kind = this.#kinds.of(claim);
    if (!this.#slowLanes.has(claim.laneId) && kind?.inOneStatement?.accepts({ claim, verdict })) return this.#oneStatementFirst;
    if (kind?.locksOthers) return this.#lockingOthers;
    if (kind && (!kind.recorded || kind.settled)) return this.#withEffects;
    return claim.concurrencyKey === null ? this.#plain : this.#keyed;
  }

  /** Whether the outcome of a claim has not been written yet. */
  isSettling(claim: Claim): boolean {
    return this.#pending.has(nameOf(claim));
  }

  async settled(): Promise<void> {
    await this.#oneStatement.settled();
    await Promise.all([this.#plain, this.#keyed, this.#withEffects, this.#lockingOthers].map((batcher) => batcher.settled()));
    while (this.#unwritten.size > 0) await Promise.all(this.#unwritten.values());
  }

  /** Stops waiting for an unavailable database. Claims that are not settled by then are taken back later. */
  giveUp(): void {
    this.#givenUp = true;
  }

  /** Writes settlements together, without those of slow lanes. */
  async #write(settlements: readonly Settlement[], writer: SettlementWriter): Promise<Valid[]> {
    const others = settlements.filter(({ claim }) => !this.#slowLanes.has(claim.laneId));
    const valid = others.length > 0 ? await this.#writeTogether(others, writer) : [];
    const validOf = new Map(others.map((one, index) => [one, valid[index] ?? false]));
    return settlements.map((one) => validOf.get(one) ?? this.#writeAlone(one, writer));
  }

  async #writeTogether(settlements: Settlement[], writer: SettlementWriter): Promise<Valid[]> {
    for (let pauseMs = FIRST_PAUSE_MS; !this.#givenUp; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        const { moved, ids, opened, enqueued = [] } = await writer.write(settlements);
        if (enqueued.length > 0) this.#onEnqueued(enqueued);
        for (const { claim } of settlements) this.#report(claim.workspaceId, recordsOf(claim.kind));
        for (const lane of opened) {
          this.#emit("circuit_opened", { ...lane });
          this.#report(lane.workspaceId, CIRCUITS);
        }
        const unmoved = new Set(moved < settlements.length && ids ? unmovedOf(settlements, ids) : []);
        const stored = await this.#storedOf([...unmoved].filter(({ mayBeStored }) => mayBeStored));
        const lost = settlements.length - moved - stored.length;
        if (lost > 0) this.#emit("settle_lost_race", { count: lost });
        for (const one of stored) unmoved.delete(one);
        return settlements.map((one) => !unmoved.has(one));
      } catch (error) {
        // The write, or one of its statements, may have been committed.
        settlements = settlements.map((one) => ({ ...one, mayBeStored: true }));
        if (isRefused(error)) return this.#writeApart(settlements, writer, error);
        this.#emit("settle_retried", { error });
        if (isTimeout(error)) return settlements.map((one) => this.#writeAlone(one, writer, settlements.length === 1));
        await wait(pauseMs);
      }
    }
    return settlements.map(() => false);
  }

  /**
   * Writes a settlement when it is its turn among those of slow lanes. In the meantime it counts as pending, and others are written.
   *
   * @param isBlocked whether it has timed out alone
   */
  #writeAlone(settlement: Settlement, writer: SettlementWriter, isBlocked = false): Promise<boolean> {
    const { name, claim } = settlement;
    const { laneId } = claim;
    this.#slowLanes.add(laneId);
    if (isBlocked) this.#blockedIn.set(laneId, (this.#blockedIn.get(laneId) ?? 0) + 1);
    const [batcher, pauseMs] = isBlocked ? [this.#blocked, MAX_PAUSE_MS] : [this.#singles, FIRST_PAUSE_MS];
    const written = wait(pauseMs)
      .then(() => batcher.add({ settlement, writer }))
      .finally(() => {
        this.#unwritten.delete(name);
        this.#pending.delete(name);
      });
    this.#unwritten.set(name, written);
    return written;
  }

  async #writeSingle({ settlement, writer }: Single): Promise<Valid[]> {
    const { laneId } = settlement.claim;
    if (writer.add && !this.#slowLanes.has(laneId)) return [writer.add(settlement)];
    const [valid = false] = await this.#writeTogether([settlement], writer);
    if (!(valid instanceof Promise) && !this.#blockedIn.has(laneId)) this.#slowLanes.delete(laneId);
    return [valid];
  }

  async #tryBlocked({ settlement, writer }: Single): Promise<Valid[]> {
    const { laneId } = settlement.claim;
    const valid = await this.#lockWaits.run("settle", () => this.#writeTogether([settlement], writer));
    const others = (this.#blockedIn.get(laneId) ?? 1) - 1;
    if (others > 0) this.#blockedIn.set(laneId, others);
    else {
      this.#blockedIn.delete(laneId);
      this.#slowLanes.delete(laneId);
    }
    return valid;
  }

  /** Which of these an earlier try has stored: the entries of their attempts are in the logs of their jobs, or their kinds find them. */
  async #storedOf(settlements: readonly Settlement[]): Promise<Settlement[]> {
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

  /**
   * Writes a batch that the database refused in halves, so that one bad settlement does not block the others. The job of the bad one goes
   * to the dead-letter queue. Otherwise it would stay claimed for as long as its lease holds.
   */
  async #writeApart(settlements: Settlement[], writer: SettlementWriter, error: unknown): Promise<Valid[]> {
    const [first] = settlements;
    if (settlements.length > 1) {
      const half = settlements.length >> 1;
      return [...(await this.#write(settlements.slice(0, half), writer)), ...(await this.#write(settlements.slice(half), writer))];
    }
    if (first && !first.again) {
      // It is tried once more: a row can be refused because its partition is being created.
      await wait(FIRST_PAUSE_MS);
      return this.#writeTogether([{ ...first, again: true }], writer);
    }
    if (first && first.verdict !== UNSTORABLE) {
      this.#emit("settle_failed", { jobId: first.claim.id, error });
      const entry = logEntry(entryOf(first.claim, UNSTORABLE, 0, null));
      return this.#writeTogether([{ ...first, verdict: UNSTORABLE, circuit: NO_EFFECT, entry }], writer);
    }
    // Then without the `settled` of its kind, which may be what fails.
    if (first && !first.isBare)
      return this.#writeTogether([{ ...first, isBare: true }], { write: (ones) => writeNotCompleted(this.#db, ones) });
    return settlements.map(() => false);
  }

  /** Returns what happened to these. If the statement fails, a transaction finds out what is wrong. */
  async #writeInOneStatement(settlements: readonly Settlement[]): Promise<SingleStatementResult[]> {
    const settled = new Set<Settlement>();
    const unknown = new Set<Settlement>();
    for (const kind of this.#kinds) {
      const outcomes = settlements.filter(({ claim }) => claim.kind === kind.name);
      if (outcomes.length === 0) continue;
      await tolerate(
        async () => {
          const done = await kind.inOneStatement?.settle(this.#db, outcomes);
          for (const [at, one] of outcomes.entries()) if (done?.[at]) settled.add(one);
        },
        (error) => {
          this.#emit("settle_retried", { error });
          for (const one of outcomes) unknown.add(one);
        },
      );
    }
    this.#forgetPending([...settled]);
    for (const { claim } of settled) this.#report(claim.workspaceId, recordsOf(claim.kind));
    return settlements.map((one) => (settled.has(one) ? "settled" : unknown.has(one) ? "unknown" : "left"));
  }

  async #writeRecords(settlements: readonly Settlement[]): Promise<Written> {
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
}

/** The result of a write: how many claims were still valid, their jobs if they are reported, which circuits opened, and which lanes have new jobs. */
interface Written {
  readonly moved: number;
  readonly ids: readonly JobId[] | null;
  readonly opened: readonly LaneKey[];
  readonly enqueued?: readonly EnqueuedLane[];
}

/** The settlements whose jobs are not among the moved ones. */
function unmovedOf(settlements: readonly Settlement[], ids: readonly JobId[]): Settlement[] {
  const moved = new Set(ids);
  return settlements.filter(({ claim }) => !moved.has(claim.id));
}

type Write = (settlements: readonly Settlement[]) => Promise<Written>;

/** Whether the claim of a settlement was valid. A promise if the settlement is written later. */
type Valid = boolean | Promise<boolean>;

const NOTHING_MOVED: Written = { moved: 0, ids: null, opened: [] };

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

const UNSTORABLE: Verdict = {
  kind: "fail",
  error: { code: "NODE_LOST", message: "The outcome of the attempt could not be stored.", status: null },
};

/** How much a verdict writes in addition to its job. Characters. */
const writtenBy = (verdict: Verdict): number =>
  (verdict.kind === "complete" ? (verdict.result?.length ?? 0) : 0) + ("report" in verdict ? (verdict.report?.length ?? 0) : 0);

/** The name of a claim. An attempt of a job has one claim. */
const nameOf = ({ id, attempt }: Claim): string => `${id}/${attempt}`;

const keyOf = ({ claim: { workspaceId, laneId, id, leaseId, attempt } }: Settlement) => ({ workspaceId, laneId, id, leaseId, attempt });

const completionOf = (settlement: Settlement) => {
  const { verdict, entry } = settlement;
  return verdict.kind === "complete" ? [{ ...keyOf(settlement), logEntry: entry, result: verdict.result }] : [];
};

function notCompletedOf(settlement: Settlement): NotCompleted {
  const { verdict, circuit, entry, recorded, usesAttempt } = settlement;
  const common = { ...keyOf(settlement), logEntry: entry, recorded };
  const error = "error" in verdict ? verdict.error : null;
  // A job alone in its lane must also be the next probe: no other job can find out that the endpoint is back.
  const aloneWaitMs = circuit.kind === "probeFails" ? circuit.probeInMs : null;
  const columns = { ...common, aloneWaitMs, error: error && JSON.stringify(error), errorCode: error?.code ?? null };
  if (verdict.kind === "defer" || verdict.kind === "release") {
    return { ...columns, to: verdict.waitMs > 0 ? "delayed" : "waiting", waitMs: verdict.waitMs, spared: true };
  }
  const spared = !usesAttempt && (circuit.kind === "fails" || circuit.kind === "opens") ? null : false;
  return verdict.kind === "retry"
    ? { ...columns, to: "delayed", waitMs: verdict.waitMs, spared }
    : { ...columns, to: "failed", waitMs: 0, spared };
}

function openingOf({ claim, verdict, circuit }: Settlement): Opening[] {
  if (circuit.kind !== "opens" || !("error" in verdict)) return [];
  const { workspaceId, laneId, revision } = claim;
  return [{ workspaceId, laneId, revision, probeInMs: circuit.probeInMs, error: JSON.stringify(verdict.error) }];
}

/** A probe that showed nothing about its endpoint lets another probe start immediately. */
function spentProbeOf({ claim, verdict, circuit }: Settlement): SpentProbe[] {
  const { workspaceId, laneId } = claim;
  const failed = circuit.kind === "probeFails";
  if (!failed && circuit.kind !== "releasesProbe") return [];
  const error = failed && "error" in verdict ? JSON.stringify(verdict.error) : null;
  return [{ workspaceId, laneId, failed, probeInMs: failed ? circuit.probeInMs : 0, error }];
}

const OUTCOMES = { complete: "completed", retry: "failed", fail: "failed", defer: "failed", release: "released" } as const;

function entryOf(claim: Claim, verdict: Verdict, tookMs: number, worker: string | null): AttemptEntry {
  const error = "error" in verdict ? verdict.error : null;
  return {
    attempt: claim.attempt,
    started_at: claim.startedAt,
    duration_ms: Math.round(tookMs * 100) / 100,
    outcome: OUTCOMES[verdict.kind],
    status: verdict.kind === "complete" ? verdict.status : (error?.status ?? null),
    error,
    worker,
  };
}
