import { Gauge, type Registry } from "prom-client";
import { after, type Clock } from "#kernel";
import type { ServiceTotals } from "./read-service-totals.ts";

/** Totals are read again for the first scrape after this time. Milliseconds. */
const READ_EVERY_MS = 15_000;
/** Reading takes at most one part in so many of a node's time, however many queues there are. */
const TIME_PART = 100;
/** A scrape waits no longer than this for the database. Prometheus drops a scrape that takes 10 s. */
const MAX_WAIT_SECONDS = 2;

/** Metrics of the whole service, which each node has, and of the node's lease and database. */
export const SERVICE_GAUGES = {
  jobs: {
    name: "tidemill_jobs",
    help: "Unfinished jobs of all queues, and dead letters (`failed`). The same on each node: use `max`, not `sum`.",
    labels: { state: ["waiting", "delayed", "pending_approval", "failed"] },
  },
  oldest: {
    name: "tidemill_oldest_waiting_job_seconds",
    help: "How long the longest waiting job of all queues, also of paused ones, has waited. Sampled once a minute. The same on each node.",
    labels: {},
  },
  circuits: {
    name: "tidemill_circuits_open",
    help: "Queues, workflows and webhooks whose circuit is open. The same on each node.",
    labels: {},
  },
  nodes: { name: "tidemill_nodes", help: "Nodes that are alive. The same on each node.", labels: {} },
  lease: {
    name: "tidemill_node_lease_held",
    help: "1 while the node holds its lease, which it needs to deliver jobs. Otherwise 0.",
    labels: {},
  },
  database: {
    name: "tidemill_database_up",
    help: "1 if the database answers the node within 2 s. Otherwise 0.",
    labels: {},
  },
} as const;

interface Observed {
  readonly registry: Registry;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly read: () => Promise<ServiceTotals>;
  /** Resolves when the database answers. */
  readonly ping: () => Promise<unknown>;
  readonly holdsLease: () => boolean;
}

/**
 * Adds these gauges to a node's metrics. The totals are read when the node is scraped, and at most every 15 seconds. There are no labels for
 * workspaces: a service has thousands.
 */
export function observeService({ registry, clock, read, ping, holdsLease }: Observed): void {
  const reading = new Reading(clock, read);
  const gauge = ({ name, help }: { readonly name: string; readonly help: string }, figureOf: (totals: ServiceTotals) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const totals = await reading.current();
        if (totals) this.set(figureOf(totals));
        else this.remove();
      },
    });
  new Gauge({
    name: SERVICE_GAUGES.jobs.name,
    help: SERVICE_GAUGES.jobs.help,
    labelNames: ["state"],
    registers: [registry],
    async collect() {
      const totals = await reading.current();
      for (const state of SERVICE_GAUGES.jobs.labels.state) {
        if (totals) this.set({ state }, totals[state]);
        else this.remove({ state });
      }
    },
  });
  gauge(SERVICE_GAUGES.oldest, ({ oldest_seconds }) => oldest_seconds ?? 0);
  gauge(SERVICE_GAUGES.circuits, ({ open_circuits }) => open_circuits);
  gauge(SERVICE_GAUGES.nodes, ({ nodes }) => nodes);
  new Gauge({
    name: SERVICE_GAUGES.lease.name,
    help: SERVICE_GAUGES.lease.help,
    registers: [registry],
    collect() {
      this.set(holdsLease() ? 1 : 0);
    },
  });
  new Gauge({
    name: SERVICE_GAUGES.database.name,
    help: SERVICE_GAUGES.database.help,
    registers: [registry],
    async collect() {
      this.set((await succeeds(ping())) ? 1 : 0);
    },
  });
}

/** Resolves to true when the work succeeds in time. */
const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    work.then(
      () => true,
      () => false,
    ),
    after(MAX_WAIT_SECONDS).then(() => false),
  ]);

/** The totals as they were last read. Gauges of one scrape, and scrapes that come together, share one reading. */
class Reading {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #read: () => Promise<ServiceTotals>;
  #totals: ServiceTotals | null = null;
  #underWay: Promise<void> | null = null;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "elapsedMs">, read: () => Promise<ServiceTotals>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** The former totals while a reading takes long. Null: the last reading failed, or there was none. */
  async current(): Promise<ServiceTotals | null> {
    if (this.#underWay === null && this.#clock.elapsedMs() >= this.#nextMs) this.#underWay = this.#refresh();
    if (this.#underWay !== null) await succeeds(this.#underWay);
    return this.#totals;
  }

  async #refresh(): Promise<void> {
    const beganMs = this.#clock.elapsedMs();
    this.#totals = await this.#read().catch(() => null);
    const nowMs = this.#clock.elapsedMs();
    this.#nextMs = nowMs + (this.#totals ? Math.max(READ_EVERY_MS, TIME_PART * (nowMs - beganMs)) : READ_EVERY_MS);
    this.#underWay = null;
  }
}
