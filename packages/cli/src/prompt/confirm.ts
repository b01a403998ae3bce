import { readReply } from "./read-reply.ts";

/** Asks a question and returns whether the reply is "y" or "yes". The end of the input, Ctrl-D and Ctrl-C count as "no". */
export async function confirm(question: string, input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<boolean> {
  return isYes((await readReply(question, input, output)) ?? "");
}

export const isYes = (reply: string): boolean => /^y(es)?$/i.test(reply.trim());
