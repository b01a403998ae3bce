import { confirm } from "./confirm.ts";

export const YES = ["--yes", "Do not ask for confirmation"] as const;

/** Asks before what cannot be undone. @throws when the reply is no, and without a terminal */
export async function askFirst(question: string, { yes }: { readonly yes?: boolean }): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY) throw new Error("Without a terminal to ask in, this needs --yes.");
  if (!(await confirm(`${question} This cannot be undone. [y/N] `, process.stdin, process.stderr))) throw new Error("Nothing was changed.");
}
