import { once } from "node:events";
import { createInterface } from "node:readline/promises";

/** Asks a question and returns whether the reply is "y" or "yes". The end of the input, Ctrl-D and Ctrl-C count as "no". */
export async function confirm(question: string, input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<boolean> {
  const terminal = createInterface({ input, output });
  const closed = once(terminal, "close").then(() => "");
  // Ctrl-D and Ctrl-C at a terminal reject the question.
  const replied = terminal.question(question).catch(() => "");
  try {
    const reply = await Promise.race([replied, closed]);
    return /^y(es)?$/i.test(reply.trim());
  } finally {
    terminal.close();
  }
}
