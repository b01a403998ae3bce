import type { SharedResource, WorkspaceId } from "#kernel";

/** Less is not counted: the number of streams limits it. Bytes. */
const MIN_COUNTED_BYTES = 16 * 1024;

/** What a look at a run holds of its workspace's memory, until the last of its readers has taken it. */
export class LookMemory {
  readonly #memory: SharedResource;
  readonly #workspaceId: WorkspaceId;
  #readers: number;
  /** Of the look. */
  #bytes = 0;

  constructor(memory: SharedResource, workspaceId: WorkspaceId, readers: number) {
    this.#memory = memory;
    this.#workspaceId = workspaceId;
    this.#readers = readers;
  }

  /**
   * Counts what is about to be read, as soon as the workspace has any room.
   *
   * @throws UNAVAILABLE when that takes too long
   */
  async hold(bytes: number): Promise<void> {
    if (bytes < MIN_COUNTED_BYTES) return;
    await this.#memory.takeInTurn(this.#workspaceId, bytes, 1);
    this.#bytes += bytes;
  }

  /** Gives back what exceeds `bytes`. */
  reduceTo(bytes: number): void {
    if (bytes < this.#bytes) this.#giveBack(this.#bytes - bytes);
  }

  /** Counts what one reader holds of its own. Returns what to call when it has taken all, or is gone. */
  holdFor(bytes: number): () => void {
    const counted = bytes < MIN_COUNTED_BYTES ? 0 : bytes;
    if (counted > 0) this.#memory.take(this.#workspaceId, counted);
    return () => {
      if (counted > 0) this.#memory.giveBack(this.#workspaceId, counted);
      this.#readers -= 1;
      if (this.#readers === 0) this.reduceTo(0);
    };
  }

  #giveBack(bytes: number): void {
    this.#memory.giveBack(this.#workspaceId, bytes);
    this.#bytes -= bytes;
  }
}
