import { LIMITS } from "@tidemill/contract";
import type { Clock, Db, SharedResource } from "#kernel";
import { type RunKey, runNotFound, showRunId } from "../run.ts";
import { findDetails } from "../run-details.ts";
import { findRun } from "../run-store.ts";
import type { RunEventStream } from "./event-stream.ts";
import { needsWhole, type RunLook } from "./frames.ts";
import { LookMemory } from "./look-memory.ts";
import { markWatched, readStepsAfter } from "./store.ts";

/** Between two looks at a run. Milliseconds. */
const LOOK_EVERY_MS = 200;
/** How often it is said that a run is followed; that lasts ten minutes. Milliseconds. */
const MARK_EVERY_MS = 240_000;

/** A run whose events this node's readers get. They share its looks at the database, of which there is one when something has changed. */
export class FollowedRun {
  readonly streams = new Set<RunEventStream>();
  readonly key: RunKey;
  readonly #db: Db;
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #memory: SharedResource;
  #isLooking = false;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #lookTimer: NodeJS.Timeout | undefined;
  #isMarked = false;
  readonly #markTimer: NodeJS.Timeout;

  constructor(key: RunKey, db: Db, clock: Pick<Clock, "elapsedMs">, memory: SharedResource) {
    this.key = key;
    this.#db = db;
    this.#clock = clock;
    this.#memory = memory;
    this.#markTimer = setInterval(() => void this.#markAgain(), MARK_EVERY_MS).unref();
  }

  /** It may have changed. */
  changed(): void {
    for (const stream of this.streams) stream.changed();
    this.look();
  }

  /** Looks at the run when it is time, for the streams that are ready. */
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

  /** Those that have events already go first: what they lack is little, and must not wait for memory for the whole journal. */
  get #ready(): RunEventStream[] {
    const ready = [...this.streams].filter(({ isReady }) => isReady);
    const begun = ready.filter(({ cursor }) => cursor !== null);
    return begun.length > 0 ? begun : ready;
  }

  async #lookNow(): Promise<void> {
    this.#lookTimer = undefined;
    const streams = this.#ready;
    if (streams.length === 0) return;
    this.#isLooking = true;
    this.#lookedMs = this.#clock.elapsedMs();
    for (const stream of streams) stream.expect();
    const memory = new LookMemory(this.#memory, this.key.workspaceId, streams.length);
    try {
      const found = await this.#read(streams, memory);
      for (const stream of streams) stream.receive(found, memory);
    } catch (error) {
      memory.reduceTo(0);
      for (const stream of streams) stream.fail(error);
    }
    this.#isLooking = false;
    this.look();
  }

  async #read(streams: readonly RunEventStream[], memory: LookMemory): Promise<RunLook> {
    // Before the first read: a change after it is notified.
    if (!this.#isMarked) await markWatched(this.#db, this.key);
    this.#isMarked = true;
    const run = await findRun(this.#db, this.key);
    if (!run) throw runNotFound(showRunId(this.key.id));
    const isWhole = streams.some(({ cursor }) => needsWhole(cursor, run));
    const after = isWhole ? -1 : Math.min(...streams.map(({ cursor }) => cursor?.steps ?? -1));
    const ofRun = isWhole ? run.input.length + (run.result?.length ?? 0) : 0;
    await memory.hold(ofRun + Math.min(run.journal_bytes, (run.last_seq - after) * LIMITS.payloadBytes));
    // A step that is stored between the two reads comes twice.
    const steps = after < run.last_seq ? await readStepsAfter(this.#db, this.key, after) : [];
    memory.reduceTo(steps.reduce((sum, { output, error }) => sum + (output?.length ?? 0) + (error?.length ?? 0), ofRun));
    if (!isWhole) return { run, steps, whole: null };
    return { run, steps, whole: await findDetails(this.#db, this.key, run) };
  }

  /** If it fails, the next look says it. */
  async #markAgain(): Promise<void> {
    await markWatched(this.#db, this.key).catch(() => {
      this.#isMarked = false;
      this.changed();
    });
  }
}
