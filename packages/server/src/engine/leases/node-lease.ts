import {
  type DatabaseClock,
  type Db,
  type EmitEvent,
  PeriodicLoop,
  type Random,
  refusesWrites,
  type StallTolerantTimeout,
  setStallTolerantTimeout,
} from "#kernel";
import { type NodeFacts, type NodeLoad, usedMemoryBytes } from "./node-facts.ts";
import { endNode, type NodeLeaseRow, registerNode, renewNode } from "./store.ts";

/** After a renewal, a node trusts its lease for this part of the lease's length. So its attempts end before others may take the jobs. */
const TRUSTED_PART = 0.8;

export interface LeaseOptions {
  readonly db: Db;
  readonly clock: DatabaseClock;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly leaseSeconds: number;
  readonly facts: NodeFacts;
  /** Where the node can be reached. It is known when it has begun to listen. */
  readonly url: () => string;
  /** The master keys that this node has. They are stored in its row, for rotations. */
  readonly masterKeyIds: () => readonly string[];
  /** Called at each renewal while this node lacks the master key that the vault uses. */
  readonly onKeyMissing: (masterKeyId: string) => void;
  /** Called when the lease was not renewed in time: others may take the jobs, so attempts must end. */
  readonly onLost: () => void;
  /** Called when messages may be lost: this node had no valid lease, or a node that was alive is gone. */
  readonly onGap: () => void;
}

/**
 * This node's lease: one row, renewed three times in its length. An expired lease is never renewed; the node continues under a new one
 * (I3). Each renewal sets the node's clock by the database's.
 */
export class NodeLease {
  readonly #options: LeaseOptions;
  readonly #loop: PeriodicLoop;
  #id: number | null = null;
  #trustedUntilMs = 0;
  #peers: readonly string[] = [];
  #isDraining = false;
  readonly #startedMs: number;
  #watch: StallTolerantTimeout | undefined;
  #refusedSinceMs: number | null = null;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#startedMs = options.clock.elapsedMs();
    const everyMs = (options.leaseSeconds * 1000) / 3;
    this.#loop = new PeriodicLoop({ name: "lease", everyMs, pass: () => this.#pass() }, options.emit, options.random);
  }

  /** The id of the lease while it is certainly valid, else null. */
  get heldBy(): number | null {
    return this.#id !== null && this.#options.clock.elapsedMs() < this.#trustedUntilMs ? this.#id : null;
  }

  /** The number of other nodes that were alive at the last renewal. */
  get peers(): number {
    return this.#peers.length;
  }

  async start(): Promise<void> {
    await this.#renew();
    this.#loop.start();
  }

  /** Renews now, because a new node has started: `peers` has changed. */
  refresh(): void {
    this.#loop.wake();
  }

  /** Reports, with a renewal, that this node is about to stop. */
  drain(): void {
    this.#isDraining = true;
    this.#loop.wakeUnlessFailed();
  }

  /** Stops renewing. `release` ends the lease, when nothing is claimed under it any more. */
  async stop(): Promise<void> {
    // A renewal under way sets another timer when it ends.
    await this.#loop.stop();
    this.#watch?.clear();
  }

  async release(): Promise<void> {
    if (this.#id !== null) await endNode(this.#options.db, this.#id);
    this.#id = null;
  }

  get id(): number | null {
    return this.#id;
  }

  /** Renews, and reports when the database stops accepting writes and when it accepts them again. */
  async #pass(): Promise<void> {
    const { clock, emit } = this.#options;
    try {
      await this.#renew();
    } catch (error) {
      if (this.#refusedSinceMs === null && refusesWrites(error)) {
        this.#refusedSinceMs = clock.elapsedMs();
        emit("database_writes_refused", { error });
      }
      throw error;
    }
    if (this.#refusedSinceMs === null) return;
    emit("database_writes_resumed", { refusedMs: Math.round(clock.elapsedMs() - this.#refusedSinceMs) });
    this.#refusedSinceMs = null;
  }

  async #renew(): Promise<undefined> {
    const { db, clock, facts, url, leaseSeconds, masterKeyIds } = this.#options;
    const sentMs = clock.elapsedMs();
    const terms = () => ({ leaseSeconds, masterKeyIds: masterKeyIds() });
    const renewed = this.#id === null ? null : await renewNode(db, this.#id, terms(), this.#load());
    if (renewed) {
      this.#hold(renewed, sentMs);
      return;
    }
    if (this.#id !== null) this.#lose();
    const registeringMs = clock.elapsedMs();
    const ageSeconds = (registeringMs - this.#startedMs) / 1000;
    const registered = await registerNode(db, { ...facts, ...terms(), ageSeconds, url: url() }, this.#load());
    if (registered) this.#hold(registered, registeringMs);
  }

  #load(): NodeLoad {
    return { memoryBytes: usedMemoryBytes(), isDraining: this.#isDraining };
  }

  #hold({ id, peers, now_ms, vault_key }: NodeLeaseRow, sentMs: number): void {
    const { clock, leaseSeconds, onGap, masterKeyIds, onKeyMissing } = this.#options;
    clock.follow(now_ms, sentMs);
    const hasGap = this.heldBy === null || this.#peers.some((peer) => !peers.includes(peer));
    this.#id = id;
    this.#peers = peers;
    this.#trustedUntilMs = sentMs + leaseSeconds * 1000 * TRUSTED_PART;
    this.#watch?.clear();
    this.#watch = setStallTolerantTimeout(
      () => this.#lose(),
      this.#trustedUntilMs - clock.elapsedMs(),
      leaseSeconds * 1000 * (1 - TRUSTED_PART),
    );
    if (hasGap) onGap();
    if (vault_key !== null && !masterKeyIds().includes(vault_key)) onKeyMissing(vault_key);
  }

  /** Called before the lease expires, not after: a timer calls it when no renewal succeeded in time. */
  #lose(): void {
    this.#watch?.clear();
    this.#trustedUntilMs = 0;
    this.#options.emit("node_lease_lost", { leaseId: this.#id });
    this.#options.onLost();
  }
}
