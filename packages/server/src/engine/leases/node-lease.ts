import { type DatabaseClock, type Db, type EmitEvent, PeriodicLoop, type Random } from "#kernel";
import { endLease, type NodeLeaseRow, registerNode, renewNode } from "./store.ts";

/** A lease counts as held for this part of its length after it was last renewed: claims end before others may take them. */
const TRUSTED_PART = 0.8;

export interface LeaseOptions {
  readonly db: Db;
  readonly clock: DatabaseClock;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly leaseSeconds: number;
  /** The master keys that this node has, kept in its row for rotations. */
  readonly masterKeyIds: () => readonly string[];
  /** Called at each renewal while this node lacks the key that the vault is locked with. */
  readonly onKeyMissing: (masterKeyId: string) => void;
  /** Called when this node was silent for too long: others take its jobs, so its attempts must end. */
  readonly onLost: () => void;
  readonly onHeld: () => void;
}

/**
 * This node's lease: one row, renewed three times in its length. A lease that ran out is never taken up again; the node goes
 * on under a new one (I3). Each renewal sets the node's clock by the database's.
 */
export class NodeLease {
  readonly #options: LeaseOptions;
  readonly #loop: PeriodicLoop;
  #id: number | null = null;
  #trustedUntilMs = 0;
  #peers = 0;
  #watch: NodeJS.Timeout | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    const everyMs = (options.leaseSeconds * 1000) / 3;
    this.#loop = new PeriodicLoop({ name: "lease", everyMs, pass: () => this.#renew() }, options.emit, options.random);
  }

  /** The lease's id while it is surely held, else null. */
  get heldBy(): number | null {
    return this.#id !== null && this.#options.clock.elapsedMs() < this.#trustedUntilMs ? this.#id : null;
  }

  /** Other nodes that were alive at the last renewal. */
  get peers(): number {
    return this.#peers;
  }

  async start(): Promise<void> {
    await this.#renew();
    this.#loop.start();
  }

  /** Looks again now, for a node that has just come. */
  refresh(): void {
    this.#loop.wake();
  }

  /** Stops renewing. The row is left to `release`, once nothing is claimed under it any more. */
  async stop(): Promise<void> {
    clearTimeout(this.#watch);
    await this.#loop.stop();
  }

  async release(): Promise<void> {
    if (this.#id !== null) await endLease(this.#options.db, this.#id);
    this.#id = null;
  }

  get id(): number | null {
    return this.#id;
  }

  async #renew(): Promise<undefined> {
    const { db, clock, leaseSeconds, masterKeyIds } = this.#options;
    const sentMs = clock.elapsedMs();
    const renewed = this.#id === null ? null : await renewNode(db, this.#id, leaseSeconds, masterKeyIds());
    if (renewed) {
      this.#hold(renewed, sentMs);
      return;
    }
    if (this.#id !== null) this.#lose();
    const registeringMs = clock.elapsedMs();
    const registered = await registerNode(db, leaseSeconds, masterKeyIds());
    if (registered) this.#hold(registered, registeringMs);
  }

  #hold({ id, peers, now_ms, vault_key }: NodeLeaseRow, sentMs: number): void {
    const { clock, leaseSeconds, onHeld, masterKeyIds, onKeyMissing } = this.#options;
    clock.follow(now_ms, sentMs);
    const fresh = this.heldBy === null;
    this.#id = id;
    this.#peers = peers;
    this.#trustedUntilMs = sentMs + leaseSeconds * 1000 * TRUSTED_PART;
    clearTimeout(this.#watch);
    this.#watch = setTimeout(() => this.#lose(), this.#trustedUntilMs - clock.elapsedMs());
    if (fresh) onHeld();
    if (vault_key !== null && !masterKeyIds().includes(vault_key)) onKeyMissing(vault_key);
  }

  /** Also when no renewal got through in time: before the lease ends, not after. */
  #lose(): void {
    clearTimeout(this.#watch);
    this.#trustedUntilMs = 0;
    this.#options.emit("node_lease_lost", { leaseId: this.#id });
    this.#options.onLost();
  }
}
