import type { Clock, Db } from "#kernel";
import { type RunKey, type RunWithData, runNotFound, showRunId } from "../runs/run.ts";
import { findDetails } from "../runs/run-details.ts";
import { findRun } from "../runs/run-store.ts";
import type { RunEventStream } from "./event-stream.ts";
import { needsWhole, type RunSnapshot } from "./frames.ts";
import { markWatched, readStepsAfter, weighStepsAfter } from "./store.ts";

/** The time between two reads of a run. Milliseconds. */
const LOOK_EVERY_MS = 200;
/** How often a run is marked as followed. A mark lasts ten minutes. Milliseconds. */
const MARK_EVERY_MS = 240_000;

/** A run whose events this node's readers get. They share its reads of the database: there is one when something has changed. */
export class FollowedRun {
  readonly streams = new Set<RunEventStream>();
  readonly key: RunKey;
  readonly #db: Db;
  readonly #clock: Pick<Clock, "elapsedMs">;
  #isLooking = false;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #lookTimer: NodeJS.Timeout | undefined;
  #isMarked = false;
  readonly #markTimer: NodeJS.Timeout;

  constructor(key: RunKey, db: Db, clock: Pick<Clock, "elapsedMs">) {
    this.key = key;
    this.#db = db;
    this.#clock = clock;
    this.#markTimer = setInterval(() => void this.#markAgain(), MARK_EVERY_MS).unref();
  }

  /** The run may have changed. */
  changed(): void {
    for (const stream of this.streams) stream.changed();
    this.look();
  }

  /** Reads the run when it is time, for the streams that are ready. */
  look(): void {
    if (this.#isLooking || this.#lookTimer || this.#ready.length === 0) return;
    const waitMs = this.#lookedMs + LOOK_EVERY_MS - this.#clock.elapsedMs();
    if (waitMs <= 0) void this.#lookNow();
    else this.#lookTimer = setTimeout(() => void this.#lookNow(), waitMs);
  }

  close(): void {
    clearTimeout(this.#lookTimer);
    clearInterval(this.#markTimer);
  }

  get #ready(): RunEventStream[] {
    return [...this.streams].filter(({ isReady }) => isReady);
  }

  async #lookNow(): Promise<void> {
    this.#lookTimer = undefined;
    const streams = this.#ready;
    if (streams.length === 0) return;
    this.#isLooking = true;
    this.#lookedMs = this.#clock.elapsedMs();
    for (const stream of streams) stream.expect();
    let admitted = streams;
    try {
      const run = await this.#readRun();
      const places = streams.flatMap((stream) => stream.unweighedPlace(run) ?? []);
      const bytesAfter = await weighStepsAfter(this.#db, this.key, places);
      admitted = streams.filter((stream) => stream.admit(run, bytesAfter));
      const found = admitted.length > 0 ? await this.#read(run, admitted) : null;
      if (found) for (const stream of admitted) void stream.receive(found);
    } catch (error) {
      for (const stream of admitted) stream.fail(error);
    }
    this.#isLooking = false;
    this.look();
  }

  async #readRun(): Promise<RunWithData> {
    // Before the first read, so that the node is notified of each later change.
    if (!this.#isMarked) await markWatched(this.#db, this.key);
    this.#isMarked = true;
    const run = await findRun(this.#db, this.key);
    if (!run) throw runNotFound(showRunId(this.key.id));
    return run;
  }

  async #read(run: RunWithData, streams: readonly RunEventStream[]): Promise<RunSnapshot> {
    const isWhole = streams.some(({ cursor }) => needsWhole(cursor, run));
    const after = isWhole ? -1 : Math.min(...streams.map(({ cursor }) => cursor?.steps ?? -1));
    // A step that is stored between the two reads is sent twice.
    const steps = after < run.last_seq ? await readStepsAfter(this.#db, this.key, after) : [];
    if (!isWhole) return { run, steps, whole: null };
    return { run, steps, whole: await findDetails(this.#db, this.key, run) };
  }

  /** If this fails, the next read reports it. */
  async #markAgain(): Promise<void> {
    await markWatched(this.#db, this.key).catch(() => {
      this.#isMarked = false;
      this.changed();
    });
  }
}
