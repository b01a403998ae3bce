import { setTimeout as wait } from "node:timers/promises";
import { type Claim, MAX_WEIGHT, weightOf } from "#jobs";
import {
  Batcher,
  type EmitEvent,
  isRefused,
  isTimeout,
  type JobId,
  type LockWaits,
  type ReportChange,
  type Transactional,
  tolerate,
} from "#kernel";
import type { Verdict } from "./judge.ts";
import type { EnqueuedLane, JobKinds } from "./kinds.ts";
import { CIRCUITS, recordsOf } from "./report-changes.ts";
import {
  type AttemptFacts,
  type Ending,
  isUnstorable,
  nameOf,
  type Settlement,
  settlementOf,
  unstorable,
  writtenBy,
} from "./settlement.ts";
import { SettlementStore, type Written } from "./settlement-store.ts";
import { SlowSettles } from "./slow-settles.ts";

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

type Write = (settlements: readonly Settlement[]) => Promise<Written>;

/** Whether the claim of a settlement was valid. A promise if the settlement is written later. */
type Valid = boolean | Promise<boolean>;

/** Writes settlements. Returns which of their claims were valid. */
type Adder = Pick<Batcher<Settlement, boolean>, "addAll">;

const WRITERS = 1;
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;

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
  readonly #kinds: JobKinds;
  readonly #store: SettlementStore;
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
  readonly #slowLanes = new SlowSettles();
  /** Settlements that are written alone, by the names of their claims. */
  readonly #unwritten = new Map<string, Promise<boolean>>();
  /** A transaction settles what one statement does not. */
  readonly #oneStatementFirst: Adder = { addAll: (settlements) => this.#addForOneStatement(settlements) };
  readonly #report: ReportChange;
  #givenUp = false;
  #needsTurns = true;
  /** Lets the blocked settlement that waits for a turn be tried without it. */
  #skipTurn = () => {};
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
    this.#kinds = kinds;
    this.#store = new SettlementStore(db, kinds);
    this.#emit = emit;
    const batcher = <Done>(write: (settlements: Settlement[]) => Promise<(Done | Promise<Done>)[]>): Batcher<Settlement, Done> =>
      new Batcher<Settlement, Done>({
        maxWeight: MAX_WEIGHT,
        writers: WRITERS,
        weigh: ({ claim, verdict }) => weightOf({ length: claim.payload.length + writtenBy(verdict) }),
        workspaceOf: ({ claim }) => claim.workspaceId,
        write,
      });
    const retrying = (write: Write): Batcher<Settlement, boolean> => {
      const together: Batcher<Settlement, boolean> = batcher((settlements) =>
        this.#write(settlements, { write, add: (one) => together.add(one) }).finally(() => this.#forgetPending(settlements)),
      );
      return together;
    };
    this.#plain = retrying((settlements) => this.#store.writeRecords(settlements));
    this.#keyed = retrying((settlements) => this.#store.writeRecords(settlements));
    this.#withEffects = retrying((settlements) => this.#store.writeWithEffects(settlements));
    this.#lockingOthers = retrying((settlements) => this.#store.writeWithEffects(settlements));
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
      group.settlements.push(settlementOf(ending, this.#kinds.of(ending.claim)?.recorded ?? true));
    }
    const writing = [...groups].map(async ([adder, { at, settlements }]) => {
      const done = await adder.addAll(settlements);
      for (const [place, index] of at.entries()) valid[index] = done[place] ?? false;
    });
    await Promise.all(writing).finally(written.resolve);
    if (earlier.size > 0) await Promise.all(earlier);
    return valid;
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

  /**
   * Waits until all outcomes of a stopping node are written. Settlements that timed out alone come last. From then on they need no turns, which
   * others may hold for longer than the node waits.
   */
  async settled(): Promise<void> {
    await this.#oneStatement.settled();
    await Promise.all([this.#plain, this.#keyed, this.#withEffects, this.#lockingOthers].map((batcher) => batcher.settled()));
    this.#needsTurns = false;
    this.#skipTurn();
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
        const stored = await this.#store.findStored([...unmoved].filter(({ mayBeStored }) => mayBeStored));
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
    this.#slowLanes.add(laneId, isBlocked);
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
    if (!(valid instanceof Promise)) this.#slowLanes.wasInTime(laneId);
    return [valid];
  }

  async #tryBlocked({ settlement, writer }: Single): Promise<Valid[]> {
    const turn = Promise.withResolvers<void>();
    this.#skipTurn = turn.resolve;
    const written = turn.promise.then(() => this.#writeTogether([settlement], writer));
    if (!this.#needsTurns) turn.resolve();
    const inTurn = this.#lockWaits.run("settle", () => {
      turn.resolve();
      return written;
    });
    const valid = await Promise.race([written, inTurn]);
    this.#slowLanes.unblock(settlement.claim.laneId);
    return valid;
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
    if (first && !isUnstorable(first)) {
      this.#emit("settle_failed", { jobId: first.claim.id, error });
      return this.#writeTogether([unstorable(first)], writer);
    }
    // Then without the `settled` of its kind, which may be what fails.
    if (first && !first.isBare) return this.#writeTogether([{ ...first, isBare: true }], { write: (ones) => this.#store.writeBare(ones) });
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
          const done = await this.#store.writeInOneStatement(kind, outcomes);
          for (const [at, one] of outcomes.entries()) if (done[at]) settled.add(one);
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
}

/** The settlements whose jobs are not among the moved ones. */
function unmovedOf(settlements: readonly Settlement[], ids: readonly JobId[]): Settlement[] {
  const moved = new Set(ids);
  return settlements.filter(({ claim }) => !moved.has(claim.id));
}
