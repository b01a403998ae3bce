import { stripVTControlCharacters } from "node:util";
import { writeLine } from "./table.ts";

const CLEAR = "\r\x1b[2K";

/** A changing last line, below lines that stay. If the output is not a terminal, it is a line like any other. */
export class StatusLine {
  #shown = "";

  /** Prints a line that stays. */
  print(line: string): void {
    const shown = this.#shown;
    this.clear();
    writeLine(line);
    if (shown !== "") this.show(shown);
  }

  /** Replaces the last line. */
  show(line: string): void {
    const { isTTY, columns } = process.stdout;
    if (!isTTY) {
      writeLine(line);
      return;
    }
    this.clear();
    // A line that wraps could not be cleared.
    this.#shown = stripVTControlCharacters(line).slice(0, Math.max(1, (columns || 80) - 1));
    process.stdout.write(this.#shown);
  }

  clear(): void {
    if (this.#shown !== "") process.stdout.write(CLEAR);
    this.#shown = "";
  }
}
