import { LIMITS } from "@tidemill/contract";

/** A line of the input that is not blank. */
export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** The input cannot be read any further. */
export class LineError extends Error {
  /** Where, from 1. */
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** Larger than any job as JSON. Bytes. */
const MAX_LINE_BYTES = LIMITS.batchBodyBytes;
const LINE_FEED = 0x0a;
const UTF_8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Splits bytes into lines, and yields the lines that each chunk completes. Blank lines are counted, but left out.
 *
 * @throws {LineError} when a line is too long or not UTF-8
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line[], void, undefined> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  let number = 0;

  function end(last: Uint8Array): Line[] {
    number += 1;
    const text = decode(parts.length === 0 ? last : Buffer.concat([...parts, last]), number);
    parts = [];
    bytes = 0;
    return text.trim() === "" ? [] : [{ number, text }];
  }

  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      lines.push(...end(chunk.subarray(from, at)));
      from = at + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
    bytes += chunk.length - from;
    yield lines;
    if (bytes > MAX_LINE_BYTES) throw new LineError(number + 1, "The line is longer than 16 MiB.");
  }
  if (bytes > 0) yield end(new Uint8Array());
}

function decode(bytes: Uint8Array, line: number): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw new LineError(line, "The line is not UTF-8.");
  }
}
