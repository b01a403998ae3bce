import { text } from "node:stream/consumers";

/**
 * Reads what must be neither in the arguments, which other users of the machine see, nor on the screen. In a terminal it asks; else it
 * reads the standard input to its end, without a last line break.
 *
 * @throws when it is empty
 */
export async function readHidden(question: string): Promise<string> {
  const read = process.stdin.isTTY ? await ask(question) : (await text(process.stdin)).replace(/\r?\n$/, "");
  if (read === "") throw new Error("Nothing was given on the standard input.");
  return read;
}

async function ask(message: string): Promise<string> {
  const { default: password } = await import("@inquirer/password");
  return password({ message, mask: true }, { output: process.stderr });
}
