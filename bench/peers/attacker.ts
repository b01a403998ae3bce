import { existsSync, writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import type { Start } from "../neighbours/attack.ts";
import { Attacker, type AttackerOptions } from "../neighbours/attacker.ts";
import { ATTACKS } from "../neighbours/attacks.ts";

/** One attack, in a process of its own: when the process ends, so does every connection of the attack. */
type Order =
  | { readonly kind: "prepare"; readonly attack: number; readonly options: AttackerOptions }
  | { readonly kind: "start" | "report" };

const AUTOGROUP = "/proc/self/autogroup";

/** In production, attackers do not take processor time from the node's machine. The priority of a session counts before that of its processes. */
function giveWay(): void {
  const { PRIORITY_LOW } = constants.priority;
  setPriority(PRIORITY_LOW);
  if (existsSync(AUTOGROUP)) writeFileSync(AUTOGROUP, String(PRIORITY_LOW));
}

let attacker: Attacker | undefined;
let start: Start | undefined;

async function run(order: Order): Promise<object> {
  if (order.kind === "prepare") {
    const attack = ATTACKS.find(({ number }) => number === order.attack);
    attacker = new Attacker(order.options);
    start = await attack?.prepare(attacker);
    attacker.forgetCounts();
  } else if (order.kind === "start") {
    giveWay();
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
