import { LIMITS } from "@tidemill/contract/limits";
import { TidemillError } from "../error.ts";
import { chance } from "../random.ts";
import { wait } from "../wait.ts";
import { nextTurn } from "../workflow/event-loop.ts";
import type { Asked, WorkerCalls, WorkResponse } from "./calls.ts";
import { type Held, HeldLeases, type Lease } from "./held-leases.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { LeaseWatch } from "./lease-watch.ts";
import type { WorkerSettings } from "./options.ts";
import { atStop, kindOf, Outcomes, type WorkOutcome, workOutcome } from "./outcomes.ts";
import { settleOutcomes } from "./settle-outcomes.ts";
import { isEmpty, type RequestedSources, refusedSource, Sources } from "./sources.ts";
import { type Taken, takenFrom } from "./taken.ts";

/** From this concurrency on, a call takes at most half of it: while the call is under way, the other half is executed and settled. */
const MIN_HALVED = 100;
/** The largest number of calls that report outcomes at the same time: while one is under way, the next one collects. */
const MAX_REPORTS = 2;
/** The longest time that a call waits for a job or run. Seconds. Proxies often end a request after 30. */
const MAX_WAIT_SECONDS = 28;
/** The same if the service does not say how long a call had waited. */
const MAX_WAIT_SECONDS_UNKNOWN = 20;
/** Jobs and runs that a call has brought get this long to begin before the next call. A timer ends up to a millisecond early. */
const BEGIN_MS = 2;
/** The shortest pause before an outcome is reported again that the service could not store. Milliseconds. */
const LATER_MS = 500;
/** If the process notices this late that a lease has ended, it did nothing in the meantime. Timers may be a second late by themselves. */
const STOPPED_MS = 2_000;
/** The part of a lease that must be left when its job or run begins. */
const MIN_LEFT = 1 / 3;

/** A call that takes nothing. */
const NOTHING: Pick<Asked, "queues" | "workflows" | "limit"> = { queues: [] };

/** Takes jobs and runs as long as there is room, executes them, and reports their outcomes. */
export class WorkLoop {
  /** Resolves when the worker was stopped and nothing is left to do. Rejects when the service refuses the worker. */
  readonly ended: Promise<void>;
  #end: () => void = () => {};
  #endWith: (error: unknown) => void = () => {};
  readonly #settings: WorkerSettings;
  readonly #calls: WorkerCalls;
  readonly #sources: Sources;
  readonly #held = new HeldLeases();
  readonly #keeper: LeaseKeeper;
  readonly #watch: LeaseWatch;
  readonly #outcomes = new Outcomes();
  /** Aborted when no more jobs and runs are taken. */
  readonly #taking = new AbortController();
  /** Aborted when no more outcomes are reported. */
  readonly #reporting = new AbortController();
  /** Handlers and workflows that have not ended. Some may continue although the worker has lost their job or run. */
  #executing = 0;
  #reports = 0;
  #waits = 0;
  /** Jobs and runs that calls under way may bring. */
  #expected = 0;
  /** Outcomes that calls under way report. */
  #reported = 0;
  /** Outcomes that are reported after a pause. */
  #postponed = 0;
  #scheduled = false;

  constructor(settings: WorkerSettings, calls: WorkerCalls) {
    const { handlers, workflows, leaseSeconds } = settings;
    this.#settings = settings;
    this.#calls = calls;
    this.#sources = new Sources(handlers.keys(), workflows.keys());
    this.#keeper = new LeaseKeeper({
      held: this.#held,
      leaseSeconds,
      elapsedMs: settings.elapsedMs,
      extend: (leases, waitSeconds, signal) => calls.extend(leases, waitSeconds, signal),
      onError: (error) => {
        if (error instanceof TidemillError) this.#fail(error);
        else this.#log("error", "Leases could not be extended.", { error: String(error) });
      },
    });
    this.#watch = new LeaseWatch(this.#held, settings.elapsedMs, (lease, lateMs) => this.#lose(lease, lateMs));
    this.ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#endWith = reject;
    });
  }

  /** How many jobs and runs are executed. */
  get executing(): number {
    return this.#executing;
  }

  start(): void {
    this.#pump();
  }

  /** Takes no more jobs and runs. */
  stop(): void {
    this.#taking.abort(new Error("The worker stops."));
    this.#pump();
  }

  /** Asks handlers and workflows to end. */
  abort(): void {
    this.#held.abortAll("shutdown");
  }

  /** Releases the jobs and runs that have not ended. Hooks have failed. */
  release(): void {
    for (const held of [...this.#held]) void this.#release(held);
    this.#pump();
  }

  /** Ends immediately, even if outcomes are not reported yet. */
  giveUp(): void {
    const count = this.#held.size + this.#outcomes.size + this.#reported + this.#postponed;
    if (count > 0) this.#log("warn", "The worker ends without having reported jobs or runs. Their leases end.", { count });
    this.#end();
  }

  /** Ends everything in progress. */
  close(): void {
    this.#taking.abort();
    this.#reporting.abort();
    this.#outcomes.clear();
    this.#held.abortAll("shutdown");
    for (const held of [...this.#held]) this.#held.giveUp(held);
    this.#keeper.stop();
    this.#watch.stop();
  }

  get #isStopping(): boolean {
    return this.#taking.signal.aborted;
  }

  get #room(): number {
    const { concurrency } = this.#settings;
    const share = concurrency < MIN_HALVED ? concurrency : Math.ceil(concurrency / 2);
    return Math.max(0, Math.min(LIMITS.workJobs, share, concurrency - this.#executing - this.#expected - this.#postponed));
  }

  /**
   * How long a call may wait. If its response does not say when its jobs were taken, that may have been right after it was sent. Then it
   * waits for at most half of a lease.
   */
  get #waitSeconds(): number {
    if (this.#calls.saysWaited) return MAX_WAIT_SECONDS;
    return Math.min(MAX_WAIT_SECONDS_UNKNOWN, Math.max(1, Math.floor(this.#settings.leaseSeconds / 2)));
  }

  /** Whatever must end before the worker has stopped. */
  get #unended(): number {
    return this.#held.size + this.#outcomes.size + this.#postponed + this.#reports + this.#waits;
  }

  /** Reports outcomes, takes jobs and runs for which there is room, and ends when it stops and nothing is left. */
  #pump(): void {
    while (this.#outcomes.size > 0 && this.#reports < MAX_REPORTS) void this.#report();
    if (!this.#isStopping && this.#waits === 0 && this.#room > 0) void this.#waitForWork();
    if (this.#isStopping && this.#unended === 0) this.#end();
  }

  /** Outcomes of jobs that end at about the same time share a call. When nothing else is executed, there is none to wait for. */
  #pumpSoon(): void {
    if (this.#executing === 0) void nextTurn().then(() => this.#pump());
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setTimeout(() => {
        this.#scheduled = false;
        this.#pump();
      }, 0);
    }
  }

  async #report(): Promise<void> {
    const outcomes = this.#outcomes.take();
    // Sources that are due again are tried by a call that reports nothing: it needs the room.
    const mayTake = !this.#isStopping && !this.#sources.isDue(this.#settings.elapsedMs());
    let asked = mayTake ? this.#asked(this.#sources.accepted) : NOTHING;
    const { limit = 0 } = asked;
    this.#reports += 1;
    this.#expected += limit;
    this.#reported += outcomes.length;
    const send = async (some: readonly WorkOutcome[]) => {
      const once = asked;
      asked = NOTHING;
      return (await this.#work(once, some, this.#reporting.signal)).settled;
    };
    const again = (outcome: WorkOutcome) => this.#outcomes.add(outcome);
    const later = (outcome: WorkOutcome) => void this.#reportLater(outcome);
    try {
      await settleOutcomes({ name: this.#settings.name, logger: this.#settings.logger, send, again, later }, outcomes);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#reports -= 1;
      this.#expected -= limit;
      this.#reported -= outcomes.length;
      this.#pump();
    }
  }

  /** The service accepts the outcome as long as the lease holds. After that it responds that the lease is lost. */
  async #reportLater(outcome: WorkOutcome): Promise<void> {
    this.#postponed += 1;
    try {
      await wait(LATER_MS * (1 + chance()), this.#reporting.signal);
      this.#outcomes.add(outcome);
    } catch {
      // The worker has ended.
    } finally {
      this.#postponed -= 1;
      this.#pump();
    }
  }

  async #waitForWork(): Promise<void> {
    const sources = this.#sources.due(this.#settings.elapsedMs());
    const asked = this.#asked(sources);
    const { limit = 0 } = asked;
    const { signal } = this.#taking;
    this.#waits += 1;
    this.#expected += limit;
    try {
      if (isEmpty(sources)) await wait(this.#sources.untilDueMs(this.#settings.elapsedMs()), signal);
      else {
        await this.#work({ ...asked, wait: this.#waitSeconds }, [], signal);
        this.#accept(sources);
      }
    } catch (error) {
      if (!this.#isStopping && !this.#leaveOut(sources, error)) this.#fail(error);
    } finally {
      this.#waits -= 1;
      this.#expected -= limit;
      // Jobs and runs that were taken begin first, until they wait for their first steps to be stored: the next call would only delay
      // these.
      if (this.#executing > 0) setTimeout(() => this.#pump(), BEGIN_MS);
      else this.#pump();
    }
  }

  #asked(sources: RequestedSources): typeof NOTHING {
    const limit = this.#room;
    return limit === 0 || isEmpty(sources) ? NOTHING : { ...sources, limit };
  }

  async #work(asked: Asked, outcomes: readonly WorkOutcome[], signal: AbortSignal): Promise<WorkResponse> {
    const before = this.#held.taken;
    const { response, endsMs } = await this.#calls.work(asked, outcomes, signal);
    this.#keeper.cancel(response.cancelled, before);
    const taken = takenFrom(response, this.#settings, this.#calls, this.#held);
    if (taken.length > 0) await this.#begin(taken, endsMs);
    return response;
  }

  /** Executes the jobs and runs that a call has brought. While the worker stops, they are released. */
  async #begin(taken: readonly Taken[], endsMs: number): Promise<void> {
    const isLate = endsMs - this.#settings.elapsedMs() < this.#settings.leaseSeconds * 1_000 * MIN_LEFT;
    const sure = isLate && !this.#isStopping ? await this.#extend(taken, endsMs) : { taken, endsMs };
    for (const one of sure.taken) {
      if (this.#isStopping) this.#outcomes.add(workOutcome(one.lease, { outcome: "released" }));
      else void this.#execute(one, sure.endsMs);
    }
  }

  /** Extends leases that may have ended. Returns what the worker still holds. */
  async #extend(taken: readonly Taken[], endsMs: number): Promise<{ taken: readonly Taken[]; endsMs: number }> {
    const leases = taken.map(({ lease }) => lease);
    try {
      const before = this.#held.taken;
      const extended = await this.#calls.extend(leases, 0, this.#taking.signal);
      this.#keeper.cancel(extended.response.cancelled, before);
      return { taken: taken.filter((_, index) => extended.response.leases[index]?.ok), endsMs: extended.endsMs };
    } catch (error) {
      if (this.#isStopping) return { taken, endsMs };
      throw error;
    }
  }

  async #execute({ lease, reason, execute }: Taken, endsMs: number): Promise<void> {
    const held = this.#held.add(lease, endsMs, reason);
    this.#watch.expect(endsMs);
    const timer = setTimeout(() => void this.#keeper.start(), this.#keeper.firstMs);
    this.#executing += 1;
    const outcome = await execute(held);
    this.#executing -= 1;
    clearTimeout(timer);
    if (this.#held.remove(held)) this.#outcomes.add(workOutcome(lease, outcome));
    this.#pumpSoon();
  }

  /** The results of steps are stored first: otherwise the next execution would execute these steps again. */
  async #release(held: Held): Promise<void> {
    while (held.stores.size > 0) {
      await Promise.allSettled(held.stores);
      // The execution continues, and may still end.
      await wait(0, undefined);
    }
    if (!this.#held.giveUp(held)) return;
    const { lease } = held;
    const kind = kindOf(lease);
    const outcome = atStop(lease);
    const what = outcome.outcome === "released" ? "It is released." : "It has failed.";
    this.#log("warn", `A ${kind} did not end in time. ${what}`, { [kind]: lease.id });
    this.#outcomes.add(workOutcome(lease, outcome));
    this.#pumpSoon();
  }

  #lose({ id, lease_token }: Lease, lateMs: number): void {
    const kind = kindOf({ id });
    const cause =
      lateMs < STOPPED_MS
        ? "the service could not be reached in time to extend it"
        : `this process did nothing for ${Math.round(lateMs / 1_000)} s, because its event loop was blocked or it was stopped`;
    this.#log("warn", `The lease on a ${kind} ended: ${cause}.`, { [kind]: id });
    this.#held.lose(id, "lease_lost", lease_token);
  }

  /** Skips the queue or workflow because of which the service refuses a call. Returns whether there is one. */
  #leaveOut(asked: RequestedSources, error: unknown): boolean {
    const source = this.#calls.wasAnswered && error instanceof TidemillError ? refusedSource(error, asked) : null;
    if (!source || !(error instanceof TidemillError)) return false;
    const isNew = this.#sources.refuse(source, this.#settings.elapsedMs());
    const fields = { [source.kind]: source.name, code: error.code, error: error.message };
    if (isNew) this.#log("warn", `The service refuses a ${source.kind}. The worker skips it and tries it again every 30 s.`, fields);
    return true;
  }

  #accept(asked: RequestedSources): void {
    for (const { kind, name } of this.#sources.accept(asked)) this.#log("info", `A ${kind} is served again.`, { [kind]: name });
  }

  /** The service refuses the worker itself. Its jobs and runs go to other workers when the leases end. */
  #fail(error: unknown): void {
    this.#endWith(error);
    this.close();
  }

  #log(level: "info" | "warn" | "error", message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#settings.logger[level](message, { worker: this.#settings.name, ...fields });
  }
}
