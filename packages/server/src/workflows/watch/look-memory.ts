import type { SharedResource, WorkspaceId } from "#kernel";

/** Less is not counted: the number of streams limits it. Bytes. */
const MIN_COUNTED_BYTES = 16 * 1024;

/** What a look at a run holds of its workspace's memory, until the last of its readers has taken it. */
export class LookMemory {
  readonly #memory: SharedResource;
  readonly #workspaceId: WorkspaceId;
  #readers: number;
  #bytes = 0;

  constructor(memory: SharedResource, workspaceId: WorkspaceId, readers: number) {
    this.#memory = memory;
    this.#workspaceId = workspaceId;
    this.#readers = readers;
  }

  /**
   * Waits for the workspace's turn at so much, or at half of the memory: there is a turn for every look.
   *
   * @throws UNAVAILABLE when that takes too long
   */
  async hold(bytes: number): Promise<void> {
    if (bytes < MIN_COUNTED_BYTES) return;
    const units = Math.min(bytes, Math.floor(this.#memory.capacity / 2));
    await this.#memory.takeInTurn(this.#workspaceId, units);
    this.#bytes += units;
  }

  /** It needs less than it holds. */
  reduceTo(bytes: number): void {
    if (bytes < this.#bytes) this.#giveBack(this.#bytes - Math.max(0, bytes));
  }

  /** One reader has taken it, or is gone. */
  release(): void {
    this.#readers -= 1;
    if (this.#readers === 0) this.#giveBack(this.#bytes);
  }

  #giveBack(bytes: number): void {
    if (bytes > 0) this.#memory.giveBack(this.#workspaceId, bytes);
    this.#bytes -= bytes;
  }
}
