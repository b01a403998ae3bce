import { Readable } from "node:stream";
import { type LongResponse, MAX_CHUNK, MIN_COUNTED_BYTES, pushSome, type StreamReader, sendingTurns } from "#http";
import { isAway, type PersonId, type Shares, type WorkspaceId } from "#kernel";
import { isEnded, type RunKey, type RunWithData, STEP_BYTES } from "../runs/run.ts";
import type { EventCursor } from "./cursor.ts";
import { chunksOfFrames, type Frame, framesFor, lengthOfFrames, needsWhole, type RunSnapshot, textOf } from "./frames.ts";

const HEARTBEAT_MS = 15_000;
const HEARTBEAT = ": heartbeat\n\n";

export interface EventStreamOptions {
  readonly key: RunKey;
  /** What the reader already has. Null: nothing. */
  readonly cursor: EventCursor | null;
  readonly shares: Pick<Shares, "requestMemory" | "loopTime">;
  readonly reader: StreamReader;
  /** Called when the reader lacks changes and can take them. */
  readonly onReady: () => void;
}

/**
 * The events of a run for one reader (text/event-stream). It holds the events of one read at most. Until the reader has taken them, it gets
 * no more. After that it gets everything that has changed since. So a slow reader misses intermediate changes.
 */
export class RunEventStream extends Readable implements LongResponse {
  readonly workspaceId: WorkspaceId;
  readonly #options: EventStreamOptions;
  readonly #opened = Promise.withResolvers<void>();
  readonly #heartbeat: NodeJS.Timeout;
  #cursor: EventCursor | null;
  /** How much of the memory for requests and responses it holds. Bytes. */
  #held = 0;
  /** How large the journal was when the reader got the last events. Null before the first. */
  #seenBytes: number | null = null;
  /** What is left of a long text that it is sending. */
  #chunks: Iterator<string, void> | null = null;
  /** Makes events from what a read has found. */
  #work: ReturnType<typeof framesFor> | null = null;
  /** Whether the reader has taken all it got. */
  #isDrained = true;
  #hasChanged = true;
  #isReceiving = false;
  #isOver = false;
  /** Whether the run had ended, and the reader had all of its events. */
  #isNeedless = false;

  constructor(options: EventStreamOptions) {
    // With this, the stream is read only when the response has room.
    super({ objectMode: true, highWaterMark: 0 });
    this.workspaceId = options.key.workspaceId;
    this.#options = options;
    this.#cursor = options.cursor;
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS).unref();
    this.#opened.promise.catch(() => {});
    this.once("close", () => {
      this.#isOver = true;
      clearInterval(this.#heartbeat);
      sendingTurns.leave(this);
      if (this.#work) options.shares.loopTime.drop(this.#work);
      this.#release();
      this.#opened.resolve();
    });
  }

  get cursor(): EventCursor | null {
    return this.#cursor;
  }

  /** Resolves when the first read of the run has succeeded. Rejects if it failed. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Whether the reader lacks changes and can take them. */
  get isReady(): boolean {
    return this.#isDrained && this.#hasChanged && !this.#isReceiving && !this.#isOver;
  }

  /** Whether the run had ended when it was opened, and the reader had all of its events. */
  get isNeedless(): boolean {
    return this.#isNeedless;
  }

  /** The run may have changed. */
  changed(): void {
    this.#hasChanged = true;
  }

  /** A read whose result this will receive begins. Changes from now on need another read. */
  expect(): void {
    this.#hasChanged = false;
    this.#isReceiving = true;
  }

  /**
   * The place in the journal after which the size of the steps is not known that the reader lacks. Null unless the reader has come with a
   * cursor.
   */
  unweighedPlace(run: RunWithData): number | null {
    const cursor = this.#cursor;
    return cursor && this.#seenBytes === null && !needsWhole(cursor, run) && cursor.steps < run.last_seq ? cursor.steps : null;
  }

  /**
   * Takes memory for what the reader lacks of a run, before that is read. Returns false when it has to wait for its workspace's turn, so
   * that it takes part in a later read, and when the stream is over.
   *
   * @param bytesAfter the size of the steps after each `unweighedPlace`
   */
  admit(run: RunWithData, bytesAfter: ReadonlyMap<number, number>): boolean {
    if (this.#isOver || this.destroyed) return false;
    const bytes = this.#lacking(run, bytesAfter);
    if (bytes < MIN_COUNTED_BYTES) return true;
    // A reader that has waited for its turn must not wait for another one because the run has grown.
    if (this.#held > 0) {
      this.#correctHeld(Math.max(this.#held, bytes));
      return true;
    }
    const turn = this.#options.shares.requestMemory.takeInTurn(this.workspaceId, bytes, 1);
    if (!turn) {
      this.#addHeld(bytes);
      return true;
    }
    const admitted = () => {
      this.#addHeld(bytes);
      this.#isReceiving = false;
      this.#hasChanged = true;
      if (this.isReady) this.#options.onReady();
    };
    turn.then(admitted, (error: unknown) => this.fail(error));
    return false;
  }

  /** An estimate, usually too high. Bytes. */
  #lacking(run: RunWithData, bytesAfter: ReadonlyMap<number, number>): number {
    const cursor = this.#cursor;
    if (cursor === null || needsWhole(cursor, run)) return run.bytes;
    const journal = this.#seenBytes === null ? (bytesAfter.get(cursor.steps) ?? 0) : Math.max(0, run.journal_bytes - this.#seenBytes);
    return journal + (run.last_seq - cursor.steps) * STEP_BYTES + (run.result?.length ?? 0);
  }

  /** Takes what a read has found. */
  async receive(look: RunSnapshot): Promise<void> {
    try {
      if (this.destroyed) return;
      const { frames, cursor } = await this.#framesFor(look);
      const characters = lengthOfFrames(frames);
      this.#correctHeld(characters < MIN_COUNTED_BYTES ? 0 : characters);
      this.#seenBytes = look.run.journal_bytes;
      this.#isReceiving = false;
      this.#send(frames, characters, cursor, look);
    } catch (error) {
      this.fail(error);
    }
  }

  async #framesFor(look: RunSnapshot): Promise<{ frames: Frame[]; cursor: EventCursor }> {
    this.#work = framesFor(this.#cursor, look);
    try {
      return await this.#options.shares.loopTime.run(this.workspaceId, look.steps.length * STEP_BYTES, this.#work);
    } finally {
      // The work refers to everything that was read.
      this.#work = null;
    }
  }

  #send(frames: readonly Frame[], characters: number, cursor: EventCursor, look: RunSnapshot): void {
    if (this.#isOver) {
      this.#release();
      return;
    }
    this.#isNeedless = frames.length === 0 && isEnded(look.run) && this.#cursor === this.#options.cursor;
    this.#cursor = cursor;
    if (characters > MAX_CHUNK) this.#sayInTurns(chunksOfFrames(frames));
    else if (frames.length > 0) this.#say(textOf(frames));
    if (isEnded(look.run)) this.finish();
    else if (this.isReady) this.#options.onReady();
    this.#opened.resolve();
  }

  /** Ends the stream, so that the reader connects again and learns why. */
  fail(error: unknown): void {
    this.#opened.reject(error);
    this.destroy();
  }

  isReadBy(personId: PersonId): boolean {
    return this.#options.reader.personId === personId;
  }

  /**
   * Ends the stream if its reader is no longer authenticated, or no longer has the role. Breaks the connection if the database is
   * unavailable, so that this is unknown.
   */
  async checkAccess(): Promise<void> {
    try {
      await this.#options.reader.reauthenticate();
    } catch (error) {
      if (isAway(error)) this.fail(error);
      else this.shutOut();
    }
  }

  /** The reader may not read any more, not even the rest of a long text. They may connect again. */
  shutOut(): void {
    if (this.#chunks) this.destroy();
    else this.finish();
  }

  /** Ends the stream as if it were complete. The reader connects again if it wants to. */
  finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!this.#chunks) this.push(null);
    this.#opened.resolve();
  }

  override _read(): void {
    if (this.#chunks) sendingTurns.next(this);
    else this.#goOn();
  }

  sendSome(): void {
    if (this.destroyed || !this.#chunks || pushSome(this, this.#chunks)) return;
    this.#chunks = null;
    if (this.#isOver) this.push(null);
    else this.#goOn();
  }

  /** The reader has taken all it got. */
  #goOn(): void {
    this.#release();
    this.#isDrained = true;
    if (this.isReady) this.#options.onReady();
  }

  /**
   * Sends a heartbeat, but not to a reader that has not taken what it got: such a reader is disconnected when it takes nothing for a while
   * (`stalled-responses.ts`).
   */
  #beat(): void {
    void this.checkAccess();
    if (this.#isDrained && !this.#isReceiving && !this.#isOver && this.#held === 0) this.#say(HEARTBEAT);
  }

  #say(text: string): void {
    this.#isDrained = false;
    this.push(text);
  }

  #sayInTurns(chunks: Iterator<string, void>): void {
    this.#isDrained = false;
    this.#chunks = chunks;
    sendingTurns.next(this);
  }

  /** Counts memory that the stream has taken. A stream that is over releases it. */
  #addHeld(bytes: number): void {
    this.#held += bytes;
    if (this.#isOver || this.destroyed) this.#release();
  }

  /** Takes or releases memory, so that the stream holds this much. */
  #correctHeld(bytes: number): void {
    const { requestMemory } = this.#options.shares;
    const more = bytes - this.#held;
    if (more > 0) requestMemory.take(this.workspaceId, more);
    else requestMemory.release(this.workspaceId, -more);
    this.#held += more;
  }

  #release(): void {
    if (this.#held > 0) this.#options.shares.requestMemory.release(this.workspaceId, this.#held);
    this.#held = 0;
  }
}
