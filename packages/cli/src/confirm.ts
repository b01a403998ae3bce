import { once } from "node:events";
import { createInterface } from "node:readline/promises";

/** Asks, and answers whether "y" or "yes" came back. Input that ends, Ctrl-D and Ctrl-C are a no. */
export async function confirm(question: string, input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<boolean> {
  const terminal = createInterface({ input, output });
  const closed = once(terminal, "close").then(() => "");
  // Of Ctrl-D and Ctrl-C at a terminal it is told by a rejection.
  const answered = terminal.question(question).catch(() => "");
  try {
    const answer = await Promise.race([answered, closed]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
