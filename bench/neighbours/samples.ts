/** How jobs of the neighbour reach its handler. `named`: the handler is addressed by a name, not by an IP address. */
export const DELIVERIES = ["single", "batch", "delayed", "keyed", "secret", "named"] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** Requests of the neighbour: an enqueue of each kind, then reads. */
export const REQUESTS = [...DELIVERIES, "GET job", "list jobs", "GET queue"] as const;
export type RequestKind = (typeof REQUESTS)[number];

/** One request or delivery. Milliseconds. */
export interface Sample {
  readonly what: "request" | "delivery";
  readonly kind: RequestKind;
  /** When it began, since the measurement began. */
  readonly atMs: number;
  readonly ms: number;
}

/** What the neighbour saw. Milliseconds. */
export interface Samples {
  /** From the sending of a request to the end of its response. */
  readonly requests: Readonly<Record<RequestKind, number[]>>;
  /** From the 2xx of an enqueue, or the moment at which a delayed job is due, to the first byte at the handler. */
  readonly deliveries: Readonly<Record<Delivery, number[]>>;
  /** Requests without a 2xx: how many, by status or error. */
  readonly refused: Readonly<Record<string, number>>;
  /** Jobs that had not arrived when the neighbour gave up. Their wait until then is in `deliveries`. */
  readonly undelivered: number;
  /** All requests and deliveries, one by one. */
  readonly each: readonly Sample[];
}
