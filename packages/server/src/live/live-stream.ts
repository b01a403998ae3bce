import { Readable } from "node:stream";
import type { RecordKind } from "@tidemill/contract";
import type { StreamReader } from "#http";
import { isAway, type PersonId } from "#kernel";

const BEAT_MS = 15_000;
const HEARTBEAT = ": heartbeat\n\n";

export interface LiveStreamOptions {
  /** How long the client waits before it connects again. Milliseconds. */
  readonly retryMs: number;
  readonly reader: StreamReader;
}

/**
 * What changes in a workspace, for one reader (text/event-stream). A reader that has not taken what it got gets no more until it has:
 * then it gets all kinds that have changed since. It is disconnected if that takes longer than a heartbeat.
 */
export class LiveStream extends Readable {
  readonly #options: LiveStreamOptions;
  readonly #pending = new Set<RecordKind>();
  readonly #timer: NodeJS.Timeout;
  #isDrained = false;
  /** Whether it had something to take at the last heartbeat. */
  #wasBehind = false;
  #isOver = false;

  constructor(options: LiveStreamOptions) {
    // With this, the stream is read only when the response has room.
    super({ highWaterMark: 0 });
    this.#options = options;
    this.#timer = setInterval(() => this.#beat(), BEAT_MS).unref();
    this.once("close", () => {
      this.#isOver = true;
      clearInterval(this.#timer);
    });
    // Something is sent immediately, so that proxies pass on the head of the response.
    this.push(`retry: ${options.retryMs}\n\n`);
  }

  changed(kinds: readonly RecordKind[]): void {
    for (const kind of kinds) this.#pending.add(kind);
    if (this.#isDrained) this.#sayPending();
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
      if (isAway(error)) this.destroy();
      else this.finish();
    }
  }

  /** Ends the stream as if it were complete: the client connects again, and learns why if it is refused. */
  finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.push(null);
  }

  override _read(): void {
    this.#isDrained = true;
    this.#wasBehind = false;
    this.#sayPending();
  }

  #sayPending(): void {
    if (this.#pending.size === 0 || this.#isOver) return;
    const kinds = [...this.#pending];
    this.#pending.clear();
    this.#say(`event: changed\ndata: ${JSON.stringify({ kinds })}\n\n`);
  }

  #beat(): void {
    void this.checkAccess();
    if (this.#isDrained) this.#say(HEARTBEAT);
    else if (this.#wasBehind) this.destroy();
    else this.#wasBehind = true;
  }

  #say(text: string): void {
    if (this.#isOver) return;
    this.#isDrained = false;
    this.push(text);
  }
}
