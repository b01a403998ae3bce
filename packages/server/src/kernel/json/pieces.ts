const PIECE_CHARACTERS = 16 * 1024;

/** A text that is put together from parts. It is kept in pieces, so that adding one text to another does not copy all its characters. */
export class Pieces {
  /** Most texts have none, and a payload may have 100,000 members, of which each is one. */
  #full: string[] | null = null;
  #last = "";

  add(text: string): void {
    this.#last += text;
    if (this.#last.length >= PIECE_CHARACTERS) this.#endPiece();
  }

  addAll(other: Pieces): void {
    if (other.#full) {
      const full = this.#endPiece();
      for (const piece of other.#full) full.push(piece);
    }
    this.add(other.#last);
  }

  #endPiece(): string[] {
    this.#full ??= [];
    this.#full.push(this.#last);
    this.#last = "";
    return this.#full;
  }

  all(): readonly string[] {
    return [...(this.#full ?? []), this.#last];
  }
}
