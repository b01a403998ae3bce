import type { ResourceName } from "#kernel";
import { operate } from "./operator.ts";
import type { Service } from "./service.ts";

/** What a node says of a resource that workspaces share. */
export async function shareFigure(service: Service, resource: ResourceName, name: "capacity" | "held" | "waiting"): Promise<number> {
  const { text } = await operate(service, "GET", "/metrics");
  return Number(new RegExp(`^tidemill_share_${name}\\{resource="${resource}"\\} (\\d+)$`, "m").exec(text)?.[1]);
}
