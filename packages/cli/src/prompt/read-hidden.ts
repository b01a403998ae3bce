import { text } from "node:stream/consumers";
import { askHidden } from "./ask.ts";

/**
 * Reads what must be neither in the arguments, which other users of the machine see, nor on the screen. In a terminal it asks; else it
 * reads the standard input to its end, without a last line break.
 *
 * @throws when it is empty
 * @throws {InterruptedError} at Ctrl-C and Ctrl-D
 */
export async function readHidden(question: string): Promise<string> {
  const read = process.stdin.isTTY ? await askHidden(question) : (await text(process.stdin)).replace(/\r?\n$/, "");
  if (read === "") throw new Error("Nothing was given.");
  return read;
}
