import { isTimeout } from "./database/pool.ts";
import { isOfDatabase } from "./problem.ts";

/** While a failure goes on, an event that it causes is logged this often. Milliseconds. */
const REPEAT_MS = 60_000;
/** After this time without an event of the same cause, the failure counts as a new one. Loops try again every 10 s. Milliseconds. */
const OVER_MS = 15_000;
/** Causes are few: SQLSTATEs and error codes. Messages that differ each time must not fill the memory. */
const MAX_CAUSES = 100;

/** Events that are emitted now and then, with the number of what they stand for. */
const SUMMARIES: ReadonlySet<string> = new Set(["requests_refused_by_database", "database_connections_refused"]);

interface Repeated {
  loggedMs: number;
  seenMs: number;
  omitted: number;
}

/**
 * Finds events that a failure of the database causes again and again: all loops of a node fail while it is away, and each tries again every
 * few seconds.
 */
export class RepeatedFailures {
  readonly #causes = new Map<string, Repeated>();

  /**
   * @returns null: the event is to be omitted, because one with the same cause was logged within the last minute; otherwise the number of
   *   events that were omitted since that one
   */
  admit(event: string, error: unknown, nowMs: number): number | null {
    const cause = causeOf(event, error);
    if (!(cause instanceof Error)) return 0;
    const { code, message } = cause as NodeJS.ErrnoException;
    const key = `${event} ${code ?? message}`;
    const known = this.#causes.get(key);
    if (known && nowMs - known.loggedMs < REPEAT_MS && nowMs - known.seenMs < OVER_MS) {
      known.seenMs = nowMs;
      known.omitted += 1;
      return null;
    }
    if (this.#causes.size >= MAX_CAUSES) this.#causes.clear();
    this.#causes.set(key, { loggedMs: nowMs, seenMs: nowMs, omitted: 0 });
    return known?.omitted ?? 0;
  }
}

/**
 * What the database, or the connection to it, failed with. Undefined: the event has another cause, or a statement took too long, which
 * says nothing about others.
 */
function causeOf(event: string, error: unknown): unknown {
  if (event === "listener_lost") return error;
  return isOfDatabase(error) && !SUMMARIES.has(event) && !isTimeout(error) ? error.cause : undefined;
}
