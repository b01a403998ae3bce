import { existsSync, writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import type { Start } from "../neighbours/attack.ts";
import { Attacker, type AttackerOptions } from "../neighbours/attacker.ts";
import { ATTACKS } from "../neighbours/attacks.ts";

/** One attack, in a process of its own: when the process ends, so does every connection of the attack. */
type Order =
  | { readonly kind: "prepare"; readonly attack: number; readonly options: AttackerOptions }
  | { readonly kind: "start" | "report" };

const AUTOGROUP = "/proc/self/autogroup";
/** Linux lets users who are not root change the priority of one session in this time. Milliseconds. */
const RETRY_MS = 100;

/** In production, attackers do not take processor time from the node's machine. The priority of a session counts before that of its processes. */
async function giveWay(): Promise<void> {
  const { PRIORITY_LOW } = constants.priority;
  setPriority(PRIORITY_LOW);
  while (existsSync(AUTOGROUP)) {
    try {
      writeFileSync(AUTOGROUP, String(PRIORITY_LOW));
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      await wait(RETRY_MS);
    }
  }
}

let attacker: Attacker | undefined;
let start: Start | undefined;

async function run(order: Order): Promise<object> {
  if (order.kind === "prepare") {
    const attack = ATTACKS.find(({ number }) => number === order.attack);
    attacker = new Attacker(order.options);
    start = await attack?.prepare(attacker);
    await giveWay();
    attacker.forgetCounts();
  } else if (order.kind === "start") {
    start?.().catch((error: Error) => attacker?.count(error.message));
  } else {
    return { counts: attacker?.counts };
  }
  return {};
}

process.on("message", (order: Order) => {
  run(order).then(
    (answer) => process.send?.(answer),
    (error: Error) => process.send?.({ error: error.message }),
  );
});
process.on("disconnect", () => process.exit(0));
process.send?.({});
