import { text } from "node:stream/consumers";
import { askHidden } from "./ask.ts";

/**
 * Reads a value that must be neither in the arguments, which other users of the machine see, nor on the screen. In a terminal it asks for
 * it. Otherwise it reads the standard input to its end, without a last line break.
 *
 * @param otherwise the value to return when nothing is given
 * @throws when nothing is given, and there is nothing else to return
 * @throws {InterruptedError} at Ctrl-C and Ctrl-D
 */
export async function readHidden(question: string, otherwise?: string): Promise<string> {
  const read = process.stdin.isTTY ? await askHidden(question) : (await text(process.stdin)).replace(/\r?\n$/, "");
  const given = read === "" ? otherwise : read;
  if (given === undefined) throw new Error("Nothing was given.");
  return given;
}
