/** V8 keeps typed arrays of up to 64 bytes in its heap, where they cost little. */
const FIRST_CAPACITY = 16;
const NOTHING = new Uint32Array(0);

/** A table of whole numbers from 0 to 2³² - 1, outside of V8's heap if it is large, so that garbage collections have nothing to copy. */
export class NumberTable {
  /** The number of rows. */
  length = 0;
  readonly #columns: number;
  #numbers = NOTHING;

  constructor(columns: number) {
    this.#columns = columns;
  }

  get(row: number, column = 0): number {
    return this.#numbers[row * this.#columns + column] as number;
  }

  set(row: number, column: number, value: number): void {
    this.#numbers[row * this.#columns + column] = value;
  }

  /** Adds a row, whose numbers the caller must set. Returns its index. */
  add(): number {
    const row = this.length;
    this.length += 1;
    if (this.length * this.#columns > this.#numbers.length) {
      const capacity = Math.max(FIRST_CAPACITY, 2 * this.#numbers.length);
      this.#numbers = this.#numbers === NOTHING ? new Uint32Array(capacity) : new Uint32Array(this.#numbers.buffer.transfer(4 * capacity));
    }
    return row;
  }

  push(value: number): void {
    this.set(this.add(), 0, value);
  }

  /** All numbers from a row on, in the table's own memory. */
  from(row: number): Uint32Array {
    return this.#numbers.subarray(row * this.#columns, this.length * this.#columns);
  }

  /** Releases the memory now. Garbage collection would do so later, and would begin earlier because of it. */
  free(): void {
    this.length = 0;
    if (this.#numbers.length > FIRST_CAPACITY) this.#numbers.buffer.transfer(0);
    this.#numbers = NOTHING;
  }
}
