import { Gauge, type Registry } from "prom-client";
import type { SharedResource } from "./shared-resource.ts";
import type { Shares } from "./shares.ts";

/** Metrics of what workspaces share, which no event changes. Those with a label have one value for each resource. */
export const SHARE_GAUGES = {
  capacity: { name: "tidemill_share_capacity", help: "How much of a shared resource the node has.", labels: ["resource"] },
  held: { name: "tidemill_share_held", help: "How much of a shared resource workspaces hold.", labels: ["resource"] },
  waiting: { name: "tidemill_share_waiting", help: "How many requests wait for a turn at a shared resource.", labels: ["resource"] },
  loop: { name: "tidemill_sliced_tasks", help: "Large bodies and responses that are being processed in slices.", labels: [] },
} as const;

interface ResourceGauge {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Adds gauges of what workspaces share to a node's metrics. */
export function observeShares(registry: Registry, { all, loopTime }: Shares): void {
  const forEach = ({ name, help, labels }: ResourceGauge, unitsOf: (resource: SharedResource) => number) =>
    new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: [registry],
      collect() {
        for (const resource of all) this.set({ resource: resource.name }, unitsOf(resource));
      },
    });
  forEach(SHARE_GAUGES.capacity, ({ capacity }) => capacity);
  forEach(SHARE_GAUGES.held, ({ total }) => total);
  forEach(SHARE_GAUGES.waiting, ({ waiting }) => waiting);
  const { name, help } = SHARE_GAUGES.loop;
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(loopTime.waiting);
    },
  });
}
