import { PassThrough } from "node:stream";
import { InterruptedError } from "../exit-code.ts";
import { readReply } from "./read-reply.ts";

/**
 * Asks in the terminal.
 *
 * @param proposal the value of an empty reply
 * @throws {InterruptedError} at Ctrl-C and Ctrl-D
 */
export async function ask(question: string, proposal: string): Promise<string> {
  const reply = await readReply(`${question} (${proposal}) `, process.stdin, process.stderr);
  if (reply === null) process.stderr.write("\n");
  return replied(reply).trim() || proposal;
}

/** Like `ask`, without showing the typed text. */
export async function askHidden(question: string): Promise<string> {
  process.stderr.write(`${question} `);
  const reply = await readReply("", process.stdin, new PassThrough().resume(), { terminal: true });
  process.stderr.write("\n");
  return replied(reply);
}

function replied(reply: string | null): string {
  if (reply === null) throw new InterruptedError("Nothing was changed.");
  return reply;
}
