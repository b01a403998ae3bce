import { RoundRobinQueue, type WorkspaceId } from "#kernel";

/** A long response that is being sent. */
export interface LongResponse {
  readonly workspaceId: WorkspaceId;
  /** Sends about a chunk (`MAX_CHUNK`). */
  sendSome(): void;
}

/** How many chunks of all long responses are sent in one turn of the event loop. They take about 2 ms. */
const CHUNKS_IN_A_TURN = 4;

/**
 * Shares the event loop's time for long responses: clients that read fast would otherwise take all of it in one turn. Workspaces take
 * turns.
 */
class SendingTurns {
  readonly #waiting = new RoundRobinQueue<LongResponse>();
  #left = CHUNKS_IN_A_TURN;
  #isPlanned = false;

  /** Sends the next chunk of a response, now or in a later turn. */
  next(response: LongResponse): void {
    this.#plan();
    if (this.#left === 0) {
      this.#waiting.add(response);
      return;
    }
    this.#left -= 1;
    response.sendSome();
  }

  /** The response was ended. */
  leave(response: LongResponse): void {
    this.#waiting.delete(response);
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isPlanned = false;
    const next = this.#waiting.take(CHUNKS_IN_A_TURN);
    this.#left = CHUNKS_IN_A_TURN - next.length;
    if (next.length > 0) this.#plan();
    for (const response of next) response.sendSome();
  };
}

/** The turns of all responses of the process. */
export const sendingTurns = new SendingTurns();
