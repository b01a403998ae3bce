import { InterruptedError } from "../exit-code.ts";
import { isYes } from "./confirm.ts";
import { readReply } from "./read-reply.ts";

export const YES = ["--yes", "Do not ask for confirmation"] as const;

/**
 * Asks before an action that cannot be undone.
 *
 * @throws when the reply is no, and without a terminal
 * @throws {InterruptedError} at Ctrl-C and Ctrl-D
 */
export async function askFirst(question: string, { yes }: { readonly yes?: boolean }): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY) throw new Error("Without a terminal to ask for confirmation, this needs --yes.");
  const reply = await readReply(`${question} This cannot be undone. [y/N] `, process.stdin, process.stderr);
  if (reply === null) {
    process.stderr.write("\n");
    throw new InterruptedError("Nothing was changed.");
  }
  if (!isYes(reply)) throw new Error("Nothing was changed.");
}
