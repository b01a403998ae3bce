import { once } from "node:events";
import { createInterface } from "node:readline/promises";

/** Shows a question and reads a line. Null at Ctrl-C, at Ctrl-D, and when the input ends. */
export async function readReply(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  settings: { readonly terminal?: boolean } = {},
): Promise<string | null> {
  const line = createInterface({ input, output, ...settings });
  const closed = once(line, "close").then(() => null);
  // Ctrl-D and Ctrl-C at a terminal reject the question.
  const replied = line.question(question).catch(() => null);
  try {
    return await Promise.race([replied, closed]);
  } finally {
    line.close();
  }
}
