import { Gauge, type Registry } from "prom-client";
import type { SharedResource } from "./shared-resource.ts";
import type { Shares } from "./shares.ts";

/** Adds gauges of what workspaces share to a node's metrics. */
export function observeShares(registry: Registry, { all, loopTime }: Shares): void {
  const gauge = (name: string, help: string, unitsOf: (resource: SharedResource) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ["resource"],
      registers: [registry],
      collect() {
        for (const resource of all) this.set({ resource: resource.name }, unitsOf(resource));
      },
    });
  gauge("tidemill_share_capacity", "How much of a shared resource the node has.", ({ capacity }) => capacity);
  gauge("tidemill_share_held", "How much of it workspaces hold.", ({ total }) => total);
  gauge("tidemill_share_waiting", "How many wait for a turn.", ({ waiting }) => waiting);
  new Gauge({
    name: "tidemill_loop_time_waiting",
    help: "Large bodies and responses that are being worked on in slices.",
    registers: [registry],
    collect() {
      this.set(loopTime.waiting);
    },
  });
}
