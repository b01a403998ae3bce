import { LIMITS } from "@tidemill/contract";
import type { EnqueueOptions, NewJob, Queue } from "@tidemill/sdk";
import { InterruptedError } from "../exit-code.ts";
import { parseExactly } from "../parse-exactly.ts";
import { type Line, LineError } from "./lines.ts";
import { nameLine } from "./name-line.ts";
import type { ResumePoint } from "./resume-token.ts";

export interface BulkOptions {
  readonly from: ResumePoint;
  /** Options of every job. Options of a line override them. */
  readonly shared: EnqueueOptions;
  /** Whether a line is a job, and not only its payload. */
  readonly linesAreJobs: boolean;
  /** Stops after the batches that are in flight. */
  readonly stop: AbortSignal;
  /** Ends the batches that are in flight. */
  readonly abort: AbortSignal;
  onBatch(done: Done): void;
}

export interface Done {
  jobs: number;
  /** How many of these jobs had been enqueued before. */
  duplicates: number;
}

/** The run ended early. Every line before `resumeAt` is enqueued. Lines after it that are enqueued are recognized by their keys. */
export class BulkError extends Error {
  readonly done: Done;
  readonly resumeAt: ResumePoint;
  override readonly cause: unknown;

  constructor(message: string, { done, resumeAt, cause }: { done: Done; resumeAt: ResumePoint; cause: unknown }) {
    super(message);
    this.done = done;
    this.resumeAt = resumeAt;
    this.cause = cause;
  }
}

/** A character takes at most 3 bytes. Each job also has its key and options. */
const MAX_CHARACTERS = LIMITS.batchBodyBytes / 4;
const MAX_IN_FLIGHT = 4;

interface Failure {
  readonly line: number;
  readonly error: unknown;
}

/**
 * Enqueues a job for each line, in batches. Each batch is stored as a whole or not at all.
 *
 * @throws {BulkError} at the first line that is refused, when the service cannot be reached any more, and when it is aborted; another error
 * when the input ends before the line at which to resume
 */
export class BulkEnqueue {
  readonly #queue: Queue<unknown>;
  readonly #options: BulkOptions;
  readonly #done: Done = { jobs: 0, duplicates: 0 };
  readonly #inFlight = new Set<Promise<void>>();
  readonly #failures: Failure[] = [];
  #batch: { line: number; job: NewJob<unknown> }[] = [];
  #characters = 0;
  /** The first line that is in no batch yet. */
  #next: number;
  /** The last line of the input that was read. */
  #last = 0;

  constructor(queue: Queue<unknown>, options: BulkOptions) {
    this.#queue = queue;
    this.#options = options;
    this.#next = options.from.line;
  }

  async run(chunks: AsyncIterable<readonly Line[]>): Promise<Done> {
    try {
      for await (const lines of chunks) {
        await this.#add(lines);
        if (this.#isOver) break;
      }
    } catch (error) {
      await this.#sendBatch();
      this.#failures.push({ line: error instanceof LineError ? error.line : this.#next, error });
    }
    if (!this.#isOver) await this.#sendBatch();
    await Promise.all(this.#inFlight);
    this.#throwIfIncomplete();
    if (this.#options.from.line > this.#last + 1)
      throw new Error(
        `The input ends at line ${this.#last}, before line ${this.#options.from.line}: it is not the input of the run to resume.`,
      );
    return this.#done;
  }

  get #isOver(): boolean {
    return this.#failures.length > 0 || this.#options.stop.aborted;
  }

  async #add(lines: readonly Line[]): Promise<void> {
    for (const { number, text } of lines) {
      this.#last = number;
      if (number < this.#options.from.line) continue;
      if (this.#batch.length === LIMITS.batchJobs || (this.#batch.length > 0 && this.#characters + text.length > MAX_CHARACTERS)) {
        await this.#sendBatch();
        if (this.#isOver) return;
      }
      this.#batch.push({ line: number, job: this.#jobOf(number, text) });
      this.#characters += text.length;
      this.#next = number + 1;
    }
  }

  #jobOf(line: number, text: string): NewJob<unknown> {
    const { shared, linesAreJobs, from } = this.#options;
    const value = parseLine(line, text);
    const keyed = { ...shared, idempotencyKey: `${from.run}:${line}` };
    if (!linesAreJobs) return { ...keyed, payload: value };
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new LineError(line, "A job is a JSON object.");
    return { ...keyed, ...(value as NewJob<unknown>) };
  }

  /** Returns as soon as another batch may be filled. */
  async #sendBatch(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#characters = 0;
    if (batch.length === 0) return;
    const sent: Promise<void> = this.#send(batch).finally(() => this.#inFlight.delete(sent));
    this.#inFlight.add(sent);
    if (this.#inFlight.size >= MAX_IN_FLIGHT) await Promise.race(this.#inFlight);
  }

  /** Never rejects. */
  async #send(batch: readonly { line: number; job: NewJob<unknown> }[]): Promise<void> {
    try {
      const jobs = await this.#queue.enqueueMany(
        batch.map(({ job }) => job),
        { signal: this.#options.abort },
      );
      this.#done.jobs += jobs.length;
      this.#done.duplicates += jobs.filter(({ duplicate }) => duplicate).length;
      this.#options.onBatch(this.#done);
    } catch (error) {
      this.#failures.push({ line: batch[0]?.line ?? 1, error: nameLine(error, (at) => batch[at]?.line) });
    }
  }

  #throwIfIncomplete(): void {
    const [first] = this.#failures.sort((one, other) => one.line - other.line);
    const { stop, from } = this.#options;
    if (!first && !stop.aborted) return;
    const error = first?.error ?? new InterruptedError("Stopped.");
    const place = error instanceof LineError ? `line ${error.line}: ` : "";
    // Lines that wait for a batch are not enqueued.
    const line = Math.min(first?.line ?? this.#next, this.#batch[0]?.line ?? this.#next);
    throw new BulkError(`${place}${(error as Error).message}`, { done: this.#done, resumeAt: { run: from.run, line }, cause: error });
  }
}

function parseLine(line: number, text: string): unknown {
  try {
    return parseExactly(text);
  } catch (error) {
    // The parser counts lines from the start of this one.
    throw new LineError(line, (error as Error).message.replace(/ \(line \d+ column \d+\)$/, ""));
  }
}
