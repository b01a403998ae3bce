import { readReply } from "./read-reply.ts";

/** Asks a question and returns whether the reply is "y" or "yes". The end of the input, Ctrl-D and Ctrl-C count as "no". */
export async function confirm(question: string, input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<boolean> {
  return /^y(es)?$/i.test((await readReply(question, input, output))?.trim() ?? "");
}
