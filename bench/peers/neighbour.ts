import { writeFileSync } from "node:fs";
import { constants } from "node:os";
import { startNameServer } from "../neighbours/name-server.ts";
import { Neighbour, type NeighbourOptions } from "../neighbours/neighbour.ts";

/** The measured tenant with its handler, and a name server, in a process of their own. */
type Order = ({ readonly kind: "open" } & NeighbourOptions) | { readonly kind: "measure"; readonly seconds: number };

/** In production, a tenant does not wait for a core of the node's machine. Without the rights of root it does here. */
function takePrecedence(): void {
  try {
    writeFileSync("/proc/self/autogroup", String(constants.priority.PRIORITY_HIGHEST));
  } catch {}
}

let neighbour: Neighbour | undefined;

async function run(order: Order): Promise<object | undefined> {
  if (order.kind === "measure") return neighbour?.measure(order.seconds);
  neighbour = await Neighbour.open(order);
  return {};
}

process.on("message", (order: Order) => void run(order).then((answer) => process.send?.(answer ?? {})));
process.on("disconnect", () => process.exit(0));
takePrecedence();
process.send?.({ namePort: await startNameServer() });
