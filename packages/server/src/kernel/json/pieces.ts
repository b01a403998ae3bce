const PIECE_CHARACTERS = 16 * 1024;

/** A text that is put together from parts. It is kept in pieces, so that adding one text to another does not copy all its characters. */
export class Pieces {
  readonly #full: string[] = [];
  #last = "";

  add(text: string): void {
    this.#last += text;
    if (this.#last.length >= PIECE_CHARACTERS) this.#endPiece();
  }

  addAll(other: Pieces): void {
    if (other.#full.length > 0) {
      this.#endPiece();
      for (const piece of other.#full) this.#full.push(piece);
    }
    this.add(other.#last);
  }

  #endPiece(): void {
    this.#full.push(this.#last);
    this.#last = "";
  }

  all(): readonly string[] {
    return [...this.#full, this.#last];
  }
}
