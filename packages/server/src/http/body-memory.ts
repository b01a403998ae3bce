const PAGE_BYTES = 4096;

/** A part of the memory, from its first byte up to, but not including, `end`. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Memory for large bodies that are being received and parsed. V8 begins to collect its whole heap once buffers have grown by 64 MiB. It
 * does not count shared memory. So this memory is allocated as shared, although nothing shares it. V8 may take it back when no body is in
 * it (decision 63).
 */
export class BodyMemory {
  #bytes: number;
  /** The ranges of the bodies, in order. */
  readonly #taken: Range[] = [];
  /** Set while bodies are in it. */
  #memory: SharedArrayBuffer | undefined;
  #unused: WeakRef<SharedArrayBuffer> | undefined;

  /** @param bytes the maximum size. Parts that were never written to use no memory of the machine */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Takes memory, whose contents are undefined. If there is no room, the buffer gets memory of its own. */
  take(bytes: number): Buffer {
    const length = Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
    let start = 0;
    let at = 0;
    for (const taken of this.#taken) {
      if (taken.start - start >= length) break;
      start = taken.end;
      at += 1;
    }
    if (start + length > this.#bytes) return Buffer.allocUnsafeSlow(bytes);
    try {
      this.#memory ??= this.#unused?.deref() ?? new SharedArrayBuffer(this.#bytes);
    } catch {
      // The system does not grant this much memory at once, and would not the next time.
      this.#bytes = 0;
      return Buffer.allocUnsafeSlow(bytes);
    }
    this.#taken.splice(at, 0, { start, end: start + length });
    return Buffer.from(this.#memory as unknown as ArrayBuffer, start, bytes);
  }

  /** Releases memory that was taken. Nothing may read it from now on: others write to it. */
  release({ buffer, byteOffset }: Buffer): void {
    if (buffer !== (this.#memory as unknown)) {
      (buffer as ArrayBuffer).transfer(0);
      return;
    }
    const at = this.#taken.findIndex(({ start }) => start === byteOffset);
    if (at >= 0) this.#taken.splice(at, 1);
    if (this.#taken.length > 0 || !this.#memory) return;
    this.#unused = new WeakRef(this.#memory);
    this.#memory = undefined;
  }
}
